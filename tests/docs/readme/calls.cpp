// README: the calls of "Enqueue" and "Effects that happen once".
#include <string>

#include <dogged/client.hpp>
#include <dogged/transaction.hpp>
#include <dogged/worker.hpp>

#include "delivery.hpp"

using namespace std::chrono_literals;

void enqueue_a_delivery() {
  dogged::Client client{"postgresql://app@db/app"};  // <dogged/client.hpp>
  client.enqueue(deliver_webhook, {"https://example.org/hook", {{"order", 7}}}, {.delay = 5min, .priority = -10});
}

struct Transfer {
  std::string owner;
};
inline constexpr dogged::Task<std::string> notify_owner{"owner.notify"};
Receipt write_entries(pqxx::work& transaction, const Transfer& transfer);

void end_in_a_transaction(dogged::Context& ctx, pqxx::connection& connection, const Transfer& transfer) {
  pqxx::work transaction{connection};                            // yours; <dogged/transaction.hpp>
  const Receipt receipt = write_entries(transaction, transfer);  // your SQL
  dogged::enqueue_in(transaction, notify_owner, {transfer.owner});
  ctx.complete_in(transaction, receipt);  // throws if the task is another worker's by now
  transaction.commit();
}
