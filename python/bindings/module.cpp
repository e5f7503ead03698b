// The module l2gcn._core: the public headers of the library as Python sees them. It holds no logic and no list of
// settings; the package around it (python/l2gcn) is what people call.
//
// Errors: what the library throws arrives as l2gcn.Error, a ValueError with the program's own sentence and its
// kind in `kind`; memory that cannot be had arrives as MemoryError. The package registers a function that rewords
// options of the command line as keyword arguments (python/l2gcn/_wording.py).
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <filesystem>

#include "call.h"
#include "l2gcn/error.h"
#include "objects.h"

namespace l2gcn::python {
namespace {

const char* KindName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return "usage";
    case ErrorKind::kInput:
      return "input";
    case ErrorKind::kRuntime:
      return "runtime";
    case ErrorKind::kCancelled:
      return "cancelled";
  }
  return "";
}

// The package's function of a sentence. It is never released: the interpreter may be gone before statics are.
nb::object& Wording() {
  static auto* const wording = new nb::object();
  return *wording;
}

nb::object Reworded(const std::string& text) {
  const nb::object sentence = nb::cast(text);
  return Wording().is_valid() ? Wording()(sentence) : sentence;
}

// Raises an instance of the class in `payload` with the sentence and its kind.
void Translate(const std::exception_ptr& pointer, void* payload) {
  const nb::handle type(static_cast<PyObject*>(payload));
  const auto raise = [&](const std::string& text, const char* kind) {
    const nb::object instance = type(Reworded(text));
    instance.attr("kind") = kind;
    PyErr_SetObject(type.ptr(), instance.ptr());
  };
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    raise(error.what(), KindName(error.kind()));
  } catch (const std::bad_alloc&) {
    PyErr_SetObject(PyExc_MemoryError, Reworded(OutOfMemoryMessage(0)).ptr());
  } catch (const std::filesystem::filesystem_error& error) {
    raise(error.path1().string() + ": " + error.code().message(), KindName(ErrorKind::kRuntime));
  }
}

}  // namespace
}  // namespace l2gcn::python

NB_MODULE(_core, module) {
  using namespace l2gcn::python;
  module.doc() = "The library behind the package l2gcn.";
  nb::object error = nb::steal(PyErr_NewExceptionWithDoc(
      "l2gcn.Error",
      "What is wrong, where, what was expected and what to do: the program's own sentence.\n\n"
      "`kind` is 'usage' (a wrong setting), 'input' (data that cannot be used), 'runtime' (failed after "
      "work\n"
      "began) or 'cancelled'.",
      PyExc_ValueError, nullptr));
  module.attr("Error") = error;
  nb::register_exception_translator(Translate, error.release().ptr());
  module.def(
      "set_wording", [](nb::object wording) { Wording() = std::move(wording); }, nb::arg("wording"),
      "The function that rewords the library's sentences for Python.");
  BindRanks(module);
  BindCall(module);
  BindDataset(module);
  BindSettings(module);
  BindModel(module);
  BindTraining(module);
  BindStudies(module);
}
