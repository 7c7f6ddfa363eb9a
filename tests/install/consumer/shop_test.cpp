// The shop's test runs the tasks that it enqueues on a private server.
#include <exception>
#include <iostream>

#include <dogged/client.hpp>
#include <dogged/testing.hpp>

#include "tasks.hpp"

int main() {
  try {
    dogged::testing::Server server;
    const dogged::testing::Database database = server.database();
    dogged::Client client{database.url()};
    client.enqueue(shop::greet_customer, {.name = "test"});
    dogged::testing::require_enqueued(database.url(), shop::greet_customer, {.name = "test"});
    const dogged::testing::DrainResult result = dogged::testing::drain({.database_url = database.url()});
    dogged::testing::require_none_enqueued(database.url(), shop::greet_customer);
    std::cout << result.count(dogged::AttemptOutcome::succeeded) << " succeeded\n";
  } catch (const std::exception& error) {
    std::cerr << "shop_test: " << error.what() << '\n';
    return 1;
  }
}
