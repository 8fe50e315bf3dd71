// A password as the configuration has it: the first line of a file without its line end (LF or
// CRLF), or the word itself.
//
// Threads: any; of a file it may block (a mount that hangs). Errors: of a file that is empty or
// cannot be read the password is empty.
#pragma once

#include <string>

namespace cuckooguard::config {

// `otherwise`: if no file is named.
std::string password_of(const std::string& file, const std::string& otherwise);
// Why the file that is named has none; empty: it has one, or none is named.
std::string why_no_password(const std::string& file);

}  // namespace cuckooguard::config
