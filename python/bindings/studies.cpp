// Searching a controller, comparing methods, and reports of runs.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "buffers.h"
#include "l2gcn/compare.h"
#include "l2gcn/report.h"
#include "objects.h"

namespace l2gcn::python {
namespace {

using Datasets = std::vector<std::shared_ptr<DatasetHandle>>;

std::shared_ptr<ControllerHandle> Search(Call& call, const Datasets& datasets, const Overrides& overrides,
                                         const Overrides& training, const std::string& state, bool resume) {
  SearchConfig config;
  SetFields(SearchFields(), overrides, config);
  std::vector<Dataset> sets;
  for (const auto& handle : datasets) sets.push_back(handle->data);
  config.state_path = state;
  config.resume = resume;
  SearchResult result;
  Controller controller = call.RunByRanks(
      [&](const Context& context) { return SearchController(context, sets, config, training, &result); });
  return std::make_shared<ControllerHandle>(
      ControllerHandle{std::move(controller), config, std::move(result)});
}

nb::dict Curve(const ControllerHandle& handle) {
  std::vector<uint32_t> rounds;
  std::vector<double> cost, epochs, greedy;
  for (const SearchResult::Round& round : handle.result.curve) {
    rounds.push_back(round.round);
    cost.push_back(round.cost);
    epochs.push_back(round.epochs);
    greedy.push_back(round.greedy_cost);
  }
  nb::dict columns;
  columns["round"] = GiveVector(rounds);
  columns["cost"] = GiveVector(cost);
  columns["epochs"] = GiveVector(epochs);
  columns["greedy_cost"] = GiveVector(greedy);
  return columns;
}

nb::dict CompareData(Call& call, const DatasetHandle& data, const std::vector<std::string>& methods,
                     uint32_t runs, const Overrides& overrides, double to_f1, bool equal_f1,
                     double max_seconds) {
  CompareOptions options;
  options.methods = methods.empty() ? ComparedMethods() : methods;
  options.runs = runs;
  options.overrides = overrides;
  options.to_f1 = to_f1;
  options.equal_f1 = equal_f1;
  options.max_seconds = max_seconds;
  const Study study =
      call.RunByRanks([&](const Context& context) { return Compare(context, data.data, options); });
  nb::dict dict;
  dict["json"] = study.json;
  dict["text"] = study.text;
  dict["csv"] = study.csv;
  return dict;
}

// `data`: the runs' data set where it is in memory, else null.
void Report(Call& call, const std::vector<std::string>& sources, const std::string& path,
            const DatasetHandle* data, const std::string& data_dir) {
  ReportOptions options;
  options.data_dir = data_dir;
  call.Run([&](const Context& context) {
    WriteReport(context, sources, options, path, data == nullptr ? nullptr : &data->data);
  });
}

}  // namespace

void BindStudies(nb::module_& module) {
  nb::class_<ControllerHandle>(module, "Controller", "A learned stop as the library holds it.")
      .def_prop_ro("description_json", [](const ControllerHandle& h) { return h.controller.DescribeJson(); })
      .def_prop_ro("curve", Curve)
      .def_prop_ro("seconds", [](const ControllerHandle& h) { return h.result.seconds; })
      .def(
          "save",
          [](const ControllerHandle& h, const std::string& path, bool force) {
            CheckSearchPath(path, force);
            SaveSearch(h.controller, h.config, h.result, path, force);
          },
          nb::arg("path"), nb::arg("force"));
  module.def("search", Search, nb::arg("call"), nb::arg("datasets"), nb::arg("overrides"),
             nb::arg("training"), nb::arg("state"), nb::arg("resume"));
  module.def("compare", CompareData, nb::arg("call"), nb::arg("data"), nb::arg("methods"), nb::arg("runs"),
             nb::arg("overrides"), nb::arg("to_f1"), nb::arg("equal_f1"), nb::arg("max_seconds"));
  module.def("write_report", Report, nb::arg("call"), nb::arg("sources"), nb::arg("path"),
             nb::arg("data").none(), nb::arg("data_dir"));
}

}  // namespace l2gcn::python
