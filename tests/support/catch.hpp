// Catch2 2 (Debian 12) and 3 (Debian 13) put their headers in different places.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
