// Training: the program's own RunTraining, with callbacks where Python asks for them.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>

#include "buffers.h"
#include "l2gcn/plan.h"
#include "objects.h"

namespace l2gcn::python {
namespace {

using Handle = std::shared_ptr<RunHandle>;

// One decision of a stop policy as a dict; what the callback returns decides whether the layer ends here: True ends
// it, False lets it go on, None leaves the policy's own decision.
void NotifyDecision(Call& call, const nb::object& callable, const LayerView& view, const Observation& seen,
                    Decision& decision) {
  call.Ask([&] {
    nb::dict dict;
    dict["layer"] = view.layer + 1;
    dict["layers"] = view.layers;
    dict["epoch"] = seen.epoch;
    dict["epochs"] = view.budget;
    dict["losses"] = GiveVector(std::vector<double>(seen.losses.begin(), seen.losses.end()));
    dict["seconds"] = seen.seconds;
    dict["stop"] = decision.stop;
    if (decision.probability >= 0) dict["stop_probability"] = decision.probability;
    if (std::isfinite(seen.validation.f1)) dict["validation_f1"] = seen.validation.f1;
    const nb::object answer = callable(dict);
    if (answer.is_none()) return;
    const int stop = PyObject_IsTrue(answer.ptr());
    if (stop < 0) throw nb::python_error();
    decision.stop = stop == 1;
  });
}

RunOptions OptionsFor(const RunHandle& run, const std::string& output, bool force) {
  RunOptions options;
  options.output = output;
  options.write = !output.empty();
  options.force = force;
  options.load_seconds = run.data->load_seconds;
  options.dataset_spec = run.data->spec;
  options.open_options = run.data->options;
  options.overrides = run.overrides;
  return options;
}

Handle TrainData(Call& call, std::shared_ptr<DatasetHandle> data, const Overrides& overrides,
                 const Overrides& run_settings, const std::string& output, bool force,
                 const nb::object& decision) {
  auto run = std::make_shared<RunHandle>();
  run->data = std::move(data);
  run->overrides = overrides;
  RunOptions options = OptionsFor(*run, output, force);
  SetFields(RunFields(), run_settings, options);
  if (!decision.is_none()) {
    options.on_decision = [&](const LayerView& view, const Observation& seen, Decision& made) {
      NotifyDecision(call, decision, view, seen, made);
    };
  }
  options.on_seed = [&](const Trained& trained) { run->trained.push_back(trained); };
  call.RunByRanks([&](const Context& context) {
    const Dataset& dataset = run->data->data;
    const TrainConfig config = ResolveConfig(overrides, dataset);
    Context sharing = context;
    if (options.on_decision) sharing.ranks.reset();  // rank 0's callback decides, and no other
    if (sharing.ranks != nullptr || Leads(context))
      run->result = RunTraining(sharing, dataset, config, options);
    run->result.config = config;
    ShareTrained(context, run->result, run->trained);
  });
  return run;
}

// What the training will need of memory and disk, as --dry-run --json prints it.
std::string Plan(Call& call, const DatasetHandle& data, const Overrides& overrides) {
  return call.RunByRanks([&](const Context& context) {
    return TrainingPlan(context, data.data, ResolveConfig(overrides, data.data), 1, true);
  });
}

// The run as a directory, as the program would have written it. Returns where it lies.
std::string Save(Call& call, const RunHandle& run, const std::string& output, bool force) {
  const RunOptions options = OptionsFor(run, output, force);
  return call
      .Run([&](const Context& context) { return SaveRun(context, run.data->data, run.trained, options); })
      .run;
}

// One row an epoch, as columns.
nb::dict History(const RunHandle& run) {
  std::vector<uint64_t> seeds;
  std::vector<uint32_t> layers, epochs;
  std::vector<double> losses, probabilities;
  for (const SeedResult& seed : run.result.seeds) {
    for (size_t layer = 0; layer < seed.layers.size(); ++layer) {
      const SeedResult::Layer& record = seed.layers[layer];
      const size_t first = losses.size();
      for (size_t epoch = 0; epoch < record.losses.size(); ++epoch) {
        seeds.push_back(seed.seed);
        layers.push_back(static_cast<uint32_t>(layer) + 1);
        epochs.push_back(static_cast<uint32_t>(epoch) + 1);
        losses.push_back(record.losses[epoch]);
        probabilities.push_back(std::numeric_limits<double>::quiet_NaN());
      }
      for (const auto& [epoch, probability] : record.probabilities) {
        if (epoch >= 1 && epoch <= record.losses.size()) probabilities[first + epoch - 1] = probability;
      }
    }
  }
  nb::dict columns;
  columns["seed"] = GiveVector(seeds);
  columns["layer"] = GiveVector(layers);
  columns["epoch"] = GiveVector(epochs);
  columns["loss"] = GiveVector(losses);
  columns["stop_probability"] = GiveVector(probabilities);
  return columns;
}

nb::dict ValidationOf(const RunHandle& run) {
  std::vector<uint64_t> seeds;
  std::vector<uint32_t> layers, epochs;
  std::vector<double> seconds, scores;
  for (const SeedResult& seed : run.result.seeds) {
    for (const SeedResult::ValidationPoint& point : seed.validation) {
      seeds.push_back(seed.seed);
      layers.push_back(point.layer);
      epochs.push_back(point.epoch);
      seconds.push_back(point.seconds);
      scores.push_back(seed.regression ? point.loss : point.f1);
    }
  }
  nb::dict columns;
  columns["seed"] = GiveVector(seeds);
  columns["layer"] = GiveVector(layers);
  columns["epoch"] = GiveVector(epochs);
  columns["seconds"] = GiveVector(seconds);
  const bool regression = !run.result.seeds.empty() && run.result.seeds.front().regression.has_value();
  columns[regression ? "loss" : "f1"] = GiveVector(scores);
  return columns;
}

nb::list Layers(const RunHandle& run, size_t index) {
  nb::list layers;
  for (const SeedResult::Layer& record : run.result.seeds.at(index).layers) {
    nb::dict dict;
    dict["epochs"] = record.epochs;
    dict["kept_epoch"] = record.kept_epoch;
    dict["stopped_by"] = record.stopped_by;
    dict["aggregate_seconds"] = record.aggregate_seconds;
    dict["train_seconds"] = record.train_seconds;
    dict["transform_seconds"] = record.transform_seconds;
    dict["sparse_input"] = record.sparse_input;
    layers.append(dict);
  }
  return layers;
}

}  // namespace

void BindTraining(nb::module_& module) {
  nb::class_<RunHandle>(module, "Run", "What a training left.")
      .def_prop_ro("result_json", [](const RunHandle& h) { return ResultToJson(h.result); })
      .def_prop_ro("config_json", [](const RunHandle& h) { return ConfigToJson(h.result.config); })
      .def_prop_ro("data", [](const RunHandle& h) { return h.data; })
      .def_prop_ro("seeds",
                   [](const RunHandle& h) {
                     std::vector<uint64_t> seeds;
                     for (const SeedResult& seed : h.result.seeds) seeds.push_back(seed.seed);
                     return seeds;
                   })
      .def_prop_ro("history", History)
      .def_prop_ro("validation", ValidationOf)
      .def("layers", Layers, nb::arg("index"))
      .def(
          "model",
          [](const RunHandle& h, size_t index) {
            return std::make_shared<ModelHandle>(ModelHandle{h.trained.at(index).model});
          },
          nb::arg("index"))
      .def(
          "split",
          [](const RunHandle& h, size_t index) {
            const Split& split = h.trained.at(index).split;
            return nb::make_tuple(split.name, GiveRoles(split));
          },
          nb::arg("index"));
  module.def("train", TrainData, nb::arg("call"), nb::arg("data"), nb::arg("overrides"),
             nb::arg("run_settings"), nb::arg("output"), nb::arg("force"), nb::arg("decision").none());
  module.def("plan", Plan, nb::arg("call"), nb::arg("data"), nb::arg("overrides"));
  module.def("save_run", Save, nb::arg("call"), nb::arg("run"), nb::arg("output"), nb::arg("force"));
}

}  // namespace l2gcn::python
