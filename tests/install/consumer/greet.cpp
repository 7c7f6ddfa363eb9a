// customer.greet, with a result.
#include <dogged/worker.hpp>

#include "tasks.hpp"

namespace shop {

std::string greet(dogged::Context&, const Greeting& greeting) { return "hello, " + greeting.name; }
TASK_REGISTER(greet, greet_customer);

}  // namespace shop
