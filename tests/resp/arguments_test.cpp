#include "resp/arguments.h"

#include <string>

#include <gtest/gtest.h>

namespace cuckooguard::resp {
namespace {

TEST(Arguments, keep_their_room_for_the_next_command) {
  Arguments arguments;
  for (int i = 0; i < 1000; ++i) {
    arguments.add("x");
  }
  const std::string_view* const room = arguments.views().data();
  arguments.clear();
  EXPECT_TRUE(arguments.empty());
  for (int i = 0; i < 1000; ++i) {
    arguments.add("y");
  }
  EXPECT_EQ(arguments.views().data(), room);
  EXPECT_EQ(arguments.size(), 1000);
}

TEST(Arguments, keep_what_was_added_while_they_grow) {
  const std::string text(500, 'a');
  Arguments arguments;
  for (std::size_t i = 0; i < text.size(); ++i) {
    arguments.add(std::string_view(text).substr(i));
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_EQ(arguments[i].data(), text.data() + i);
    EXPECT_EQ(arguments.views()[i].size(), text.size() - i);
  }
}

}  // namespace
}  // namespace cuckooguard::resp
