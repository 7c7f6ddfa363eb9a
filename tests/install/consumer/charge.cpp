// card.charge, whose failures are retried or not by their code. The charge is written in the transaction that ends the
// task: it is there once, however often the handler ran.
#include <chrono>
#include <cstdlib>
#include <string>

#include <dogged/transaction.hpp>
#include <dogged/worker.hpp>

#include "cards.hpp"
#include "tasks.hpp"

namespace shop {

using namespace std::chrono_literals;

ChargeReceipt charge(dogged::Context& ctx, const Charge& charge) {
  if (is_stolen(charge.card)) throw dogged::TaskError{"CARD_STOLEN", "the card was reported stolen"};
  if (ctx.attempt() < 3) throw dogged::TaskError{"CARD_BUSY", "another charge is under way"};
  const ChargeReceipt receipt{.tries = ctx.attempt()};
  pqxx::connection connection{std::getenv("DATABASE_URL")};
  pqxx::work transaction{connection};
  transaction.exec("insert into charges values (" + transaction.quote(charge.card) + ", " +
                   std::to_string(charge.cents) + ")");
  ctx.complete_in(transaction, receipt);
  transaction.commit();
  ctx.log().info("charged {} cents", charge.cents);
  return receipt;
}
TASK_REGISTER(charge, charge_card, .queue = "payments", .retry = dogged::Fixed{.interval = 100ms, .max_retries = 3},
              .auto_retry_for = {"CARD_BUSY"}, .timeout = 10s);

}  // namespace shop
