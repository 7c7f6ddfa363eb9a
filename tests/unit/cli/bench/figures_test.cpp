// The figures of `dogged bench`: quantiles, how numbers are written, and rounds.
#include "cli/bench/core/figures.hpp"

#include <nlohmann/json.hpp>

#include "support/catch.hpp"

using namespace dogged::cli::bench;

TEST_CASE("a quantile is a value that was measured, by the nearest rank") {
  const std::vector<double> values{30, 10, 40, 20};
  CHECK(quantile(values, 0) == 10);
  CHECK(quantile(values, 0.25) == 10);
  CHECK(quantile(values, 0.26) == 20);
  CHECK(quantile(values, 0.5) == 20);
  CHECK(quantile(values, 0.99) == 40);
  CHECK(quantile(values, 1) == 40);
  CHECK(quantile({7}, 0.5) == 7);
  CHECK(quantile({}, 0.5) == 0);
  CHECK(median({3, 1, 2}) == 2);
}

TEST_CASE("numbers for people have three digits that count, and thousands apart") {
  CHECK(number_for_people(0) == "0");
  CHECK(number_for_people(0.8734) == "0.873");
  CHECK(number_for_people(0.99951) == "1.00");
  CHECK(number_for_people(1.234) == "1.23");
  CHECK(number_for_people(9.996) == "10.0");
  CHECK(number_for_people(12.34) == "12.3");
  CHECK(number_for_people(99.96) == "100");
  CHECK(number_for_people(999.4) == "999");
  CHECK(number_for_people(999.6) == "1,000");
  CHECK(number_for_people(97412.3) == "97,412");
  CHECK(number_for_people(1234567) == "1,234,567");
  CHECK(number_for_people(-1234567) == "-1,234,567");
  CHECK(number_for_people(-123456) == "-123,456");
}

TEST_CASE("values of one key are the rounds of one figure") {
  Figures figures;
  figures.add("rate", "drained", "tasks/s", 1000);
  CHECK(figures.columns().size() == 3);
  figures.add("rate", "drained", "tasks/s", 3000);
  figures.add("rate", "drained", "tasks/s", 2000);
  figures.add_times("late", "late by", {3, 1, 2});
  REQUIRE(figures.all().size() == 4);
  CHECK(figures.all()[0].rounds == std::vector<double>{1000, 3000, 2000});
  CHECK(figures.columns().size() == 5);
  CHECK(figures.rows()[0][1].text == "2,000");
  CHECK(figures.rows()[0][2].text == "1,000");
  CHECK(figures.rows()[0][3].text == "3,000");

  const auto printed = nlohmann::json::parse(figures.json());
  CHECK(printed[0]["key"] == "rate");
  CHECK(printed[0]["unit"] == "tasks/s");
  CHECK(printed[0]["median"] == 2000.0);
  CHECK(printed[0]["min"] == 1000.0);
  CHECK(printed[0]["max"] == 3000.0);
  CHECK(printed[0]["rounds"] == nlohmann::json{1000.0, 3000.0, 2000.0});
  CHECK(printed[1]["key"] == "late_p50_ms");
  CHECK(printed[1]["median"] == 2.0);
  CHECK(printed[2]["key"] == "late_p99_ms");
  CHECK(printed[3]["key"] == "late_max_ms");
  CHECK(printed[3]["median"] == 3.0);
}
