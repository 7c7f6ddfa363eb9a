// expect: an.error.code.is.1.to.64.of
// shown: HTTP-503
#include <dogged/codes.hpp>

constexpr dogged::ErrorCode overloaded{"HTTP-503"};
