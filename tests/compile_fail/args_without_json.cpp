// expect: dogged: the args of a task must convert to and from nlohmann::json
#include <dogged/task.hpp>

#include <string>

struct Delivery {
  std::string url;
};

constexpr dogged::Task<Delivery> deliver_webhook{"webhook.deliver"};
