// expect: a_name_is_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash
#include <dogged/task.hpp>

constexpr dogged::Task<int> task{""};
