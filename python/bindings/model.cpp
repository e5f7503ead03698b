// Models: applied, scored, saved, opened, and taken apart for other libraries.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "buffers.h"
#include "l2gcn/error.h"
#include "l2gcn/export.h"
#include "objects.h"

namespace l2gcn::python {
namespace {

using Handle = std::shared_ptr<ModelHandle>;

nb::dict Tensors(const ModelHandle& handle) {
  nb::dict tensors;
  for (const Model::Tensor& tensor : TensorsByName(handle.model))
    tensors[nb::cast(tensor.name)] = Give(tensor.values, tensor.shape, false);
  return tensors;
}

nb::dict Form(const ModelHandle& handle) {
  const Model::Formula form = FormulaOf(handle.model);
  nb::dict dict;
  dict["aggregation"] = form.aggregation;
  dict["own_beside"] = form.own_beside;
  dict["prediction_head"] = form.prediction_head;
  dict["row_normalise"] = handle.model.preparation.row_normalise;
  dict["heads"] = handle.model.heads.size();
  dict["mean_of_layers"] = handle.model.mean_of_layers;
  dict["propagates_labels"] = handle.model.label_propagation.on();
  return dict;
}

// Roles of nodes as a split; None: nothing is known of them.
Split SplitOf(nb::handle roles, const std::string& name = "given") {
  const SharedBuffer buffer = ReadBuffer(roles, "roles");
  return {name, Array<uint8_t>::CopyOf(buffer.As<uint8_t>("B", "roles"))};
}

nb::object Logits(Call& call, const ModelHandle& handle, const DatasetHandle& data, nb::handle known) {
  const Split split = SplitOf(known);
  return Give(call.RunByRanks(
      [&](const Context& context) { return PredictLogits(context, handle.model, data.data, &split); }));
}

nb::object Probabilities(Call& call, const ModelHandle& handle, const DatasetHandle& data, nb::handle known) {
  if (handle.model.task() == Task::kRegression)
    throw Error(ErrorKind::kUsage,
                "predict_proba: the model predicts numbers, which have no probabilities; use predict");
  const Split split = SplitOf(known);
  return Give(call.RunByRanks([&](const Context& context) {
    Matrix logits = PredictLogits(context, handle.model, data.data, &split);
    LogitsToProbabilities(logits, handle.model.multilabel);
    return logits;
  }));
}

nb::object Decisions(Call& call, const ModelHandle& handle, const DatasetHandle& data, nb::handle known) {
  const Model& model = handle.model;
  const Split split = SplitOf(known);
  const auto logits = [&](const Context& context) {
    return PredictLogits(context, model, data.data, &split);
  };
  if (!model.multilabel) {
    const Array<int32_t> classes =
        call.RunByRanks([&](const Context& context) { return DecideClasses(model, logits(context)); });
    return Give(classes, {classes.size()}, true);
  }
  const Array<uint8_t> labels =
      call.RunByRanks([&](const Context& context) { return DecideLabels(model, logits(context)); });
  return Give(labels, {data.data.nodes(), model.classes}, true);
}

nb::object Embedding(Call& call, const ModelHandle& handle, const DatasetHandle& data, uint32_t layer) {
  return Give(call.RunByRanks(
      [&](const Context& context) { return Embed(context, handle.model, data.data, layer); }));
}

nb::dict FiguresDict(const Score::Numbers& figures) {
  nb::dict dict;
  dict["r2"] = figures.r2;
  dict["mae"] = figures.mae;
  dict["rmse"] = figures.rmse;
  dict["spearman"] = figures.spearman;
  return dict;
}

nb::dict RegressionDict(const Score& score) {
  nb::dict dict = FiguresDict(score.regression);
  dict["nodes"] = score.nodes;
  dict["baseline"] = FiguresDict(score.regression_baseline);
  nb::list targets;
  for (const Score::Target& target : score.targets) {
    nb::dict row = FiguresDict(target.model);
    row["target"] = target.name;
    row["count"] = target.count;
    row["baseline"] = FiguresDict(target.baseline);
    targets.append(row);
  }
  dict["targets"] = targets;
  return dict;
}

nb::dict ScoreDict(const Score& score, bool multilabel) {
  nb::dict dict;
  dict["nodes"] = score.nodes;
  dict["f1"] = score.micro_f1;
  dict["macro_f1"] = score.macro_f1;
  dict["accuracy"] = score.accuracy;
  dict["balanced_accuracy"] = score.balanced_accuracy;
  dict["roc_auc"] = score.roc_auc;
  dict["average_precision"] = score.average_precision;
  dict["log_loss"] = score.log_loss;
  dict["calibration_error"] = score.calibration_error;
  dict["baseline"] = score.baseline;
  dict["baseline_f1"] = score.baseline_f1;
  dict["baseline_macro_f1"] = score.baseline_macro_f1;
  nb::list classes, calibration;
  for (const Score::Class& one : score.classes) {
    nb::dict row;
    row["class"] = one.name;
    row["precision"] = one.precision;
    row["recall"] = one.recall;
    row["f1"] = one.f1;
    row["roc_auc"] = one.roc_auc;
    row["average_precision"] = one.average_precision;
    row["count"] = one.count;
    row["predicted"] = one.predicted;
    classes.append(row);
  }
  for (const Score::Bin& bin : score.calibration) {
    nb::dict row;
    row["low"] = bin.low;
    row["high"] = bin.high;
    row["count"] = bin.count;
    row["probability"] = bin.probability;
    row["frequency"] = bin.frequency;
    calibration.append(row);
  }
  dict["classes"] = classes;
  dict["calibration"] = calibration;
  if (score.confusion.empty()) {
    dict["confusion"] = nb::none();
  } else {
    const size_t rows = score.classes.size(), cols = multilabel ? 4 : rows;
    dict["confusion"] = Give(Array<uint64_t>::CopyOf(score.confusion), {rows, cols}, true);
  }
  return dict;
}

// Scores of every part of a split that has nodes, and of all labelled nodes.
nb::dict Evaluate(Call& call, const ModelHandle& handle, const DatasetHandle& data, const std::string& name,
                  nb::handle roles, nb::handle known) {
  const Model& model = handle.model;
  const Split split = SplitOf(roles, name), train = SplitOf(known);
  constexpr std::pair<const char*, Role> kParts[] = {
      {"train", Role::kTrain}, {"val", Role::kVal}, {"test", Role::kTest}, {"all", Role::kNone}};
  const auto scores = call.RunByRanks([&](const Context& context) {
    const Dataset aligned = AlignLabels(context, model, data.data);
    const Matrix logits = PredictLogits(context, model, aligned, &train);
    std::vector<std::pair<std::string, Score>> parts;
    for (const auto& [part, role] : kParts) {
      Score score = ScoreLogits(context, aligned, logits, split, role, model.thresholds);
      if (score.nodes > 0) parts.emplace_back(part, std::move(score));
    }
    return parts;
  });
  nb::dict dict;
  const bool regression = model.task() == Task::kRegression;
  for (const auto& [part, score] : scores)
    dict[nb::cast(part)] = regression ? RegressionDict(score) : ScoreDict(score, model.multilabel);
  return dict;
}

// The model in a directory, or in a run's; with what the run knows of its data.
nb::dict Load(const std::string& directory, int64_t seed) {
  OpenedRun opened = OpenRun(directory, seed);
  nb::dict dict;
  dict["split_name"] = opened.split.name;
  dict["roles"] = GiveRoles(opened.split);
  dict["directory"] = opened.directory;
  dict["knows_data"] = opened.knows_data;
  dict["spec"] = opened.dataset_spec;
  dict["options_json"] = OpenOptionsToJson(opened.open_options);
  dict["label_column"] = opened.model.schema.label;
  dict["model"] = nb::cast(std::make_shared<ModelHandle>(ModelHandle{std::move(opened.model)}));
  return dict;
}

}  // namespace

void BindModel(nb::module_& module) {
  nb::class_<ModelHandle>(module, "Model", "A trained model as the library holds it.")
      .def_prop_ro("config_json", [](const ModelHandle& h) { return ConfigToJson(h.model.config); })
      .def_prop_ro("features", [](const ModelHandle& h) { return h.model.features; })
      .def_prop_ro("classes", [](const ModelHandle& h) { return h.model.classes; })
      .def_prop_ro("multilabel", [](const ModelHandle& h) { return h.model.multilabel; })
      .def_prop_ro("regression", [](const ModelHandle& h) { return h.model.task() == Task::kRegression; })
      .def_prop_ro("class_names", [](const ModelHandle& h) { return h.model.class_names; })
      .def_prop_ro("layers", [](const ModelHandle& h) { return h.model.layers.size(); })
      .def_prop_ro("thresholds", [](const ModelHandle& h) { return h.model.thresholds; })
      .def_prop_ro("structure", [](const ModelHandle& h) { return h.model.structure; })
      .def_prop_ro("schema", [](const ModelHandle& h) { return GiveSchema(h.model.schema); })
      .def_prop_ro("tensors", Tensors)
      .def_prop_ro("form", Form)
      .def(
          "save", [](const ModelHandle& h, const std::string& directory) { SaveModel(h.model, directory); },
          nb::arg("directory"));
  module.def("logits", Logits, nb::arg("call"), nb::arg("model"), nb::arg("data"), nb::arg("known").none());
  module.def("probabilities", Probabilities, nb::arg("call"), nb::arg("model"), nb::arg("data"),
             nb::arg("known").none());
  module.def("decisions", Decisions, nb::arg("call"), nb::arg("model"), nb::arg("data"),
             nb::arg("known").none());
  module.def("embedding", Embedding, nb::arg("call"), nb::arg("model"), nb::arg("data"), nb::arg("layer"));
  module.def("evaluate", Evaluate, nb::arg("call"), nb::arg("model"), nb::arg("data"), nb::arg("split_name"),
             nb::arg("roles"), nb::arg("known").none());
  module.def("load_run", Load, nb::arg("directory"), nb::arg("seed"));
  module.def(
      "export_predictions",
      [](Call& call, const ModelHandle& h, const DatasetHandle& data, nb::handle roles,
         const std::string& path) {
        CheckExportPath(path);
        const Split split = SplitOf(roles);
        call.RunByRanks([&](const Context& context) {
          const Dataset aligned = AlignLabels(context, h.model, data.data);
          const Matrix logits = PredictLogits(context, h.model, aligned, &split);
          if (Leads(context)) ExportPredictions(context, h.model, aligned, logits, split, path);
        });
      },
      nb::arg("call"), nb::arg("model"), nb::arg("data"), nb::arg("roles").none(), nb::arg("path"));
}

}  // namespace l2gcn::python
