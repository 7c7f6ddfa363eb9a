// card.charge, whose failures are retried or not by their code.
#include <chrono>

#include <dogged/worker.hpp>

#include "cards.hpp"
#include "tasks.hpp"

namespace shop {

using namespace std::chrono_literals;

ChargeReceipt charge(dogged::Context& ctx, const Charge& charge) {
  if (is_stolen(charge.card)) throw dogged::TaskError{"CARD_STOLEN", "the card was reported stolen"};
  if (ctx.attempt() < 3) throw dogged::TaskError{"CARD_BUSY", "another charge is under way"};
  ctx.log().info("charged {} cents", charge.cents);
  return {.tries = ctx.attempt()};
}
TASK_REGISTER(charge, charge_card, .queue = "payments", .retry = dogged::Fixed{.interval = 100ms, .max_retries = 3},
              .auto_retry_for = {"CARD_BUSY"}, .timeout = 10s);

}  // namespace shop
