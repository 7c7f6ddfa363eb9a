// See property.hpp.
#include "support/property.hpp"

#include <rapidcheck.h>

namespace dogged::test {

bool holds(FunctionRef<void()> property) {
  return rc::check([property] { property(); });
}

void note(const std::string& text) { RC_LOG() << text << '\n'; }

std::int64_t drawing::any_in_range(std::int64_t least, std::int64_t end) { return *rc::gen::inRange(least, end); }
std::int64_t any_integer() { return *rc::gen::arbitrary<std::int64_t>(); }
std::int64_t any_integer_from_0() { return *rc::gen::nonNegative<std::int64_t>(); }
int any_int() { return *rc::gen::arbitrary<int>(); }
double any_double() { return *rc::gen::arbitrary<double>(); }
bool any_bool() { return *rc::gen::arbitrary<bool>(); }
unsigned char any_byte() { return *rc::gen::arbitrary<unsigned char>(); }
std::string any_text() { return *rc::gen::arbitrary<std::string>(); }
std::vector<char> any_chars() { return *rc::gen::arbitrary<std::vector<char>>(); }
std::vector<unsigned char> any_bytes() { return *rc::gen::arbitrary<std::vector<unsigned char>>(); }

std::size_t any_of(std::size_t count) {
  return *rc::Gen<std::size_t>([count](const rc::Random& random, int /*size*/) {
    return rc::shrinkable::just(static_cast<std::size_t>(rc::Random(random).next() % count));
  });
}

}  // namespace dogged::test
