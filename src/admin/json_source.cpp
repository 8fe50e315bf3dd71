// Boost.JSON, compiled once here: Debian's binary of it would be one more package to install where
// the guard runs.
#include <boost/json/src.hpp>
