// A controller on disk: one safetensors file with the net's weights, and its settings as JSON in the
// metadata. The shipped controllers are such files, embedded at build time.
#include <nlohmann/json.hpp>

#include "controller/controller_impl.h"
#include "controller/search_choices.h"
#include "controller/shipped.h"
#include "core/error_format.h"
#include "core/json_text.h"
#include "model/safetensors.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kControllerFormat = "l2gcn-controller";
constexpr int kControllerVersion = 1;

Json SettingsJson(const ControllerImpl& impl) {
  const PolicyShape& shape = impl.net.shape();
  return {{"kind", NameOf<SearchConfig::Kind>(kControllerKindNames, impl.kind)},
          {"sees", impl.SeesValidation() ? "validation" : "loss"},
          {"layers", impl.layers},
          {"interval", impl.interval},
          {"threshold", impl.threshold},
          {"min_epochs", impl.min_epochs},
          {"max_epochs", impl.max_epochs},
          {"hidden", shape.hidden},
          {"features", shape.features},
          {"embedding_width", shape.embedding_width},
          {"embeddings", shape.embeddings},
          {"decoders", shape.decoders},
          {"learned_on", impl.learned_on},
          {"rounds", impl.rounds}};
}

// Weights as float tensors, cut as PolicyNet lays them out.
std::vector<NamedTensor> TensorsOf(const PolicyNet& net) {
  const PolicyShape& shape = net.shape();
  size_t offset = 0;
  const auto take = [&](const char* name, size_t rows, size_t cols) {
    NamedTensor tensor{name, {rows, cols}, Array<float>::Allocate(rows * cols)};
    for (size_t i = 0; i < rows * cols; ++i) {
      tensor.values.mutable_data()[i] = static_cast<float>(net.weights()[offset + i]);
    }
    offset += rows * cols;
    return tensor;
  };
  std::vector<NamedTensor> tensors = {
      take("lstm", size_t{4} * shape.hidden, shape.inputs() + shape.hidden + 1),
      take("decoder", size_t{2} * shape.decoders, shape.hidden + 1)};
  if (shape.embeddings > 0) tensors.push_back(take("embedding", shape.embeddings, shape.embedding_width));
  return tensors;
}

PolicyShape ShapeFrom(const Json& settings, SearchConfig::Kind kind, uint32_t layers,
                      const std::string& where) {
  PolicyShape shape;
  shape.features = settings.at("features").get<uint32_t>();
  shape.embedding_width = settings.at("embedding_width").get<uint32_t>();
  shape.embeddings = settings.at("embeddings").get<uint32_t>();
  shape.hidden = settings.at("hidden").get<uint32_t>();
  shape.decoders = settings.at("decoders").get<uint32_t>();
  const bool general = kind == SearchConfig::Kind::kGeneral;
  const bool fits = general ? shape.features == GeneralShape(shape.hidden, false).features ||
                                  shape.features == GeneralShape(shape.hidden, true).features
                            : shape.features == 1 + layers;
  if (!fits || shape.hidden == 0 || shape.hidden > 4096 || shape.decoders == 0 ||
      shape.decoders > (1u << 20) || shape.embeddings > (1u << 21) || shape.embedding_width > 4096 ||
      (general && (shape.decoders != 1 || shape.embeddings != 0 || shape.embedding_width != 0)) ||
      (!general && (shape.embeddings == 0 || shape.embedding_width == 0 || layers == 0 || layers > 4096))) {
    ThrowInput(
        "{}: a {} controller with {} inputs, width {} and {} decoders cannot be; learn it again with l2gcn "
        "learn-controller",
        where, NameOf<SearchConfig::Kind>(kControllerKindNames, kind), shape.features, shape.hidden,
        shape.decoders);
  }
  return shape;
}

PolicyNet NetFrom(const Safetensors& file, const PolicyShape& shape, const std::string& where) {
  std::vector<double> weights;
  const auto append = [&](const char* name, size_t rows, size_t cols) {
    const Matrix matrix = file.TakeMatrix(name);
    if (matrix.rows != rows || matrix.cols != cols) {
      ThrowInput("{}: tensor '{}' is {} × {}, expected {} × {}", where, name, matrix.rows, matrix.cols, rows,
                 cols);
    }
    for (float value : matrix.values) {
      if (!std::isfinite(value)) ThrowInput("{}: tensor '{}' holds a value that is not finite", where, name);
      weights.push_back(value);
    }
  };
  append("lstm", size_t{4} * shape.hidden, shape.inputs() + shape.hidden + 1);
  append("decoder", size_t{2} * shape.decoders, shape.hidden + 1);
  if (shape.embeddings > 0) append("embedding", shape.embeddings, shape.embedding_width);
  return PolicyNet(shape, std::move(weights));
}

Controller FromFile(const Safetensors& file, const std::string& where) {
  const auto settings_text = file.metadata.find("controller");
  if (settings_text == file.metadata.end() || file.metadata.count("format") == 0 ||
      file.metadata.at("format") != kControllerFormat) {
    ThrowInput("{}: not a controller; expected a file written by l2gcn learn-controller", where);
  }
  try {
    const int version = std::stoi(file.metadata.at("version"));
    if (version != kControllerVersion) {
      ThrowInput(
          "{}: controller version {}, this program reads version {}; learn it again with l2gcn "
          "learn-controller",
          where, version, kControllerVersion);
    }
    const Json settings = ParseJson(settings_text->second, where);
    auto impl = std::make_shared<ControllerImpl>();
    const auto kind = settings.at("kind").get<std::string>();
    const SearchConfig::Kind* const known = FindChoice<SearchConfig::Kind>(kControllerKindNames, kind);
    if (known == nullptr) ThrowInput("{}: unknown kind '{}'", where, kind);
    impl->kind = *known;
    impl->layers = settings.at("layers").get<uint32_t>();
    impl->interval = settings.at("interval").get<uint32_t>();
    impl->threshold = settings.at("threshold").get<double>();
    impl->min_epochs = settings.at("min_epochs").get<uint32_t>();
    impl->max_epochs = settings.at("max_epochs").get<uint32_t>();
    impl->learned_on = settings.at("learned_on").get<std::string>();
    impl->rounds = settings.at("rounds").get<uint32_t>();
    if (!(impl->threshold >= 0 && impl->threshold <= 1))
      ThrowInput("{}: a threshold of {} cannot be; expected 0 to 1", where, impl->threshold);
    if (impl->interval == 0) ThrowInput("{}: an interval of 0 epochs cannot be", where);
    impl->net = NetFrom(file, ShapeFrom(settings, impl->kind, impl->layers, where), where);
    return Controller(impl);
  } catch (const Json::exception& error) {
    ThrowInput("{}: damaged controller settings: {}", where, error.what());
  } catch (const std::logic_error&) {
    ThrowInput("{}: damaged controller version", where);
  }
}

}  // namespace

Controller::Controller(std::shared_ptr<const ControllerImpl> impl) : impl_(std::move(impl)) {
  if (impl_ == nullptr) ThrowUsage("a controller without contents; use Controller::Load or Shipped");
}

void Controller::Save(const std::string& path, bool replace) const {
  WriteSafetensors(path, TensorsOf(impl_->net),
                   {{"format", kControllerFormat},
                    {"version", std::to_string(kControllerVersion)},
                    {"controller", JsonText(SettingsJson(*impl_))}},
                   replace);
}

Controller Controller::Load(const std::string& path) { return FromFile(ReadSafetensors(path), path); }

Controller Controller::Shipped(const std::string& kind) {
  if (kind != "general" && kind != "general-loss" && kind != "paper") {
    ThrowUsage("no controller of kind '{}' comes with the library; expected general, general-loss or paper",
               kind);
  }
  const std::string where = fmt::format("the shipped {} controller", kind);
  return FromFile(ParseSafetensors(ShippedController(kind), where), where);
}

std::string Controller::DescribeJson() const {
  Json json = {{"kind", "controller"}, {"controller", SettingsJson(*impl_)}};
  return JsonText(json, 2);
}

}  // namespace l2gcn
