// The tables of settings as lists of dicts. Everything Python says of a parameter comes from here: names, defaults,
// ranges, sentences, and the methods that take it.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "l2gcn/version.h"
#include "objects.h"

namespace l2gcn::python {
namespace {

const char* KindName(FieldText::Kind kind) {
  switch (kind) {
    case FieldText::Kind::kText:
      return "text";
    case FieldText::Kind::kNumber:
      return "number";
    case FieldText::Kind::kList:
      return "list";
    case FieldText::Kind::kFlag:
      return "flag";
  }
  return "";
}

const char* LevelName(FieldText::Level level) {
  switch (level) {
    case FieldText::Level::kBasic:
      return "basic";
    case FieldText::Level::kAdvanced:
      return "advanced";
    case FieldText::Level::kPreset:
      return "preset";
  }
  return "";
}

template <class Config>
nb::list Table(const std::vector<FieldOf<Config>>& fields, const Config& defaults) {
  nb::list rows;
  for (const FieldOf<Config>& field : fields) {
    nb::dict row;
    row["name"] = field.name;
    row["kind"] = KindName(field.kind);
    row["placeholder"] = field.placeholder;
    row["help"] = field.help;
    row["choices"] = nb::cast(field.choices);
    row["range"] = field.range;
    row["default"] = field.get(defaults);
    row["methods"] = nb::cast(field.methods);
    row["group"] = field.group;
    row["level"] = LevelName(field.level);
    rows.append(row);
  }
  return rows;
}

}  // namespace

void BindSettings(nb::module_& module) {
  module.def("train_settings", [] { return Table(Fields(), ResolveConfig({}, Dataset{})); });
  module.def("search_settings", [] { return Table(SearchFields(), SearchConfig{}); });
  module.def("run_settings", [] { return Table(RunFields(), RunOptions{}); });
  module.def("machine_settings", [] { return Table(MachineFields(), MachineConfig{}); });
  module.def("open_options_json", [] { return OpenOptionsToJson({}); });
  module.def(
      "resolve_config",
      [](const Overrides& overrides, const DatasetHandle* data) {
        return ConfigToJson(ResolveConfig(overrides, data == nullptr ? Dataset{} : data->data));
      },
      nb::arg("overrides"), nb::arg("data").none());
  module.def("where_to_set", WhereToSet, nb::arg("name"));
  module.def("nearest_name", NearestName, nb::arg("word"), nb::arg("candidates"));
  module.def("methods", DescribeMethods);
  module.def("compared_methods", ComparedMethods);
  module.def("version", Version);
  module.def("build_features", BuildFeatures);
  module.def("usable_cores", UsableCores);
  module.def("devices", DeviceNames);
}

}  // namespace l2gcn::python
