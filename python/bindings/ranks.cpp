#include "ranks.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cstdio>
#include <string>

namespace l2gcn::python {
namespace {

namespace nb = nanobind;

// Told by another thread just before the process ends, so not through the interpreter.
void LogLostRank(const std::string& text) {
  std::fputs(("l2gcn: " + text + "\n").c_str(), stderr);
  std::fflush(stderr);
}

std::shared_ptr<RanksHandle> Join() {
  std::shared_ptr<Ranks> ranks;
  {
    const nb::gil_scoped_release release;
    ranks = JoinRanks(LogLostRank, "auto");
  }
  return ranks == nullptr ? nullptr : std::make_shared<RanksHandle>(RanksHandle{std::move(ranks)});
}

}  // namespace

void BindRanks(nb::module_& module) {
  nb::class_<RanksHandle>(module, "Ranks", "The processes of a launcher that run one script.")
      .def_prop_ro("rank", [](const RanksHandle& h) { return h.ranks != nullptr ? h.ranks->rank() : 0; })
      .def_prop_ro("size", [](const RanksHandle& h) { return h.ranks != nullptr ? h.ranks->size() : 1; })
      .def(
          "agree",
          [](const RanksHandle& h, std::string text) {
            const nb::gil_scoped_release release;
            return h.ranks != nullptr ? TextOfRank0(*h.ranks, std::move(text)) : text;
          },
          nb::arg("text"), "Rank 0's text, on every rank.")
      .def(
          "abort",
          [](const RanksHandle& h, const std::string& reason) {
            const nb::gil_scoped_release release;
            if (h.ranks != nullptr) h.ranks->Abort(reason, 1);
          },
          nb::arg("reason"), "Ends all ranks with a sentence.")
      .def(
          "part",
          [](RanksHandle& h) {
            const nb::gil_scoped_release release;
            h.ranks.reset();
          },
          "Waits for the others, and works alone from then on.");
  module.def("join_ranks", Join, "The ranks that a launcher started, or None.");
}

}  // namespace l2gcn::python
