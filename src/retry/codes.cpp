// See codes.hpp.
#include <dogged/codes.hpp>
#include <dogged/error.hpp>

namespace dogged::mistake {

void an_error_code_is_1_to_64_of_A_to_Z_digits_underscore(std::string_view code) {
  throw InvalidInput("the error code \"" + std::string{code.substr(0, limits::error_code_bytes)} +
                     "\" is not 1 to 64 of A-Z 0-9 _ beginning with a letter");
}

}  // namespace dogged::mistake
