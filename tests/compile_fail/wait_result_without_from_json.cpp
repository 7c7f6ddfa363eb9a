// expect: dogged: to wait for the result of a task, its type must convert from nlohmann::json
#include <dogged/client.hpp>

struct Receipt {
  int status;
};
void to_json(nlohmann::json& json, const Receipt& receipt) { json = receipt.status; }

constexpr dogged::Task<int, Receipt> deliver_webhook{"webhook.deliver"};

int status_of(dogged::Client& client, dogged::TaskId id) {
  return client.wait(deliver_webhook, id, dogged::milliseconds{0}).result->status;
}
