// README: the worker of "Add it to your project".
#include <dogged/worker.hpp>  // hello.cpp
inline constexpr dogged::Task<std::string, std::string> hello{"hello"};
std::string greet(dogged::Context&, const std::string& name) { return "hello, " + name; }
TASK_REGISTER(greet, hello);
int main(int argc, char** argv) { return dogged::worker_main(argc, argv); }
