// expect: dogged: the args of a task must convert to and from nlohmann::json
#include <string>

#include <dogged/task.hpp>

struct Delivery {
  std::string url;
};

constexpr dogged::Task<Delivery> deliver_webhook{"webhook.deliver"};
