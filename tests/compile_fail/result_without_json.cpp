// expect: dogged: the result of a task must be void or convert to nlohmann::json
#include <dogged/task.hpp>

struct Receipt {
  int status;
};

constexpr dogged::Task<int, Receipt> deliver_webhook{"webhook.deliver"};
