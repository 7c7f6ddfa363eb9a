// expect: accepted
// The control of the refusals of complete_in: every transaction and result that it takes, and enqueue_in in those that
// it does not take.
#include <dogged/transaction.hpp>

struct Receipt {
  int status;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Receipt, status)

constexpr dogged::Task<Receipt> file_receipt{"receipt.file"};

void complete(dogged::Context& context, pqxx::work& work, pqxx::transaction<pqxx::serializable>& serializable,
              pqxx::robusttransaction<>& robust) {
  context.complete_in(work);
  context.complete_in(serializable, Receipt{200});
  context.complete_in(robust, nlohmann::json{{"status", 200}});
}

void enqueue(pqxx::nontransaction& alone, pqxx::subtransaction& part, pqxx::transaction_base& any) {
  dogged::enqueue_in(alone, file_receipt, {200});
  dogged::enqueue_in(part, file_receipt, {200}, {.priority = 1}, "schema");
  dogged::enqueue_many_in(any, file_receipt, {{200}, {404}});
  dogged::enqueue_in(any, dogged::NewTask{"receipt.file", R"({"status": 200})", {}});
}
