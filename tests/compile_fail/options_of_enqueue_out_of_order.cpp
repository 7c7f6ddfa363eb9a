// expect: designator order for field .*EnqueueOptions::delay|field .priority. will be
#include <dogged/client.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

inline void enqueue(dogged::Client& client) { client.enqueue(count, 1, {.priority = -10, .delay = 5min}); }
