// expect: dogged: the args of a task must convert to and from nlohmann::json
#include <string>

#include <dogged/task.hpp>

struct Delivery {
  std::string url;
};
inline void to_json(nlohmann::json& json, const Delivery& delivery) { json = delivery.url; }

constexpr dogged::Task<Delivery> deliver_webhook{"webhook.deliver"};
