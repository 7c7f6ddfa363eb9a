// One private server for all tests of this program.
#pragma once

#include <dogged/testing.hpp>

inline dogged::testing::Server& server() {
  static dogged::testing::Server one;
  return one;
}
