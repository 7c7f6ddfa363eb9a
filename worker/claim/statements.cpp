// See statements.hpp.
#include "claim/statements.hpp"

#include <utility>

namespace dogged::runtime {

sql::Claim claim_of(std::int64_t worker_id, const std::vector<QueueClaim>& claims, std::vector<std::string> names,
                    std::int64_t claim_session, std::vector<int> versions) {
  sql::Claim claim{};
  claim.worker_id = worker_id;
  claim.claim_session = claim_session;
  for (const QueueClaim& one : claims) {
    claim.queues.push_back(one.queue);
    claim.how_many.push_back(static_cast<int>(one.how_many));
    claim.of_all.push_back(one.of_all ? 1 : 0);
    for (const Watermarks::Range& range : one.ranges) {
      claim.range_numbers.push_back(static_cast<int>(claim.queues.size()));
      claim.afters.push_back(range.after);
      claim.uptos.push_back(range.upto);
    }
  }
  claim.names = std::move(names);
  claim.versions = std::move(versions);
  return claim;
}

sql::Look look_for(const std::vector<QueueClaim>& for_ready, std::vector<std::string> names,
                   std::vector<std::string> queues, std::vector<int> versions) {
  sql::Look look{};
  for (const QueueClaim& one : for_ready) {
    for (const Watermarks::Range& range : one.ranges) {
      look.ready_queues.push_back(one.queue);
      look.afters.push_back(range.after);
      look.uptos.push_back(range.upto);
    }
  }
  look.names = std::move(names);
  look.versions = std::move(versions);
  look.queues = std::move(queues);
  return look;
}

}  // namespace dogged::runtime
