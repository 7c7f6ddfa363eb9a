// expect: dogged: the args of a task must convert to and from nlohmann::json
#include <dogged/task.hpp>

#include <string>

struct Delivery {
  std::string url;
};
inline void to_json(nlohmann::json& json, const Delivery& delivery) { json = delivery.url; }

constexpr dogged::Task<Delivery> deliver_webhook{"webhook.deliver"};
