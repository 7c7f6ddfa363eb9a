// expect: an.error.code.is.1.to.64.of
#include <dogged/codes.hpp>

constexpr std::string_view nothing;
constexpr dogged::ErrorCode none{nothing};
