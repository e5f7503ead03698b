#include "buffers.h"

#include <cstring>

#include "l2gcn/error.h"

namespace l2gcn::python {
namespace {

// Releases the export with the interpreter lock held, from whichever thread lets go last. After the interpreter is
// gone nothing is left to release.
void Release(Py_buffer* view) {
  if (Py_IsInitialized() != 0) {
    const nb::gil_scoped_acquire lock;
    PyBuffer_Release(view);
  }
  delete view;
}

// "<i", "=f" and "@q" say the order of bytes, which is this machine's own; ">" is not.
std::string LetterOf(const char* format) {
  std::string text = format == nullptr ? "B" : format;
  if (text.size() == 2 && std::strchr("<=@", text[0]) != nullptr) text.erase(0, 1);
  return text;
}

}  // namespace

size_t SharedBuffer::size() const {
  size_t count = owner == nullptr ? 0 : 1;
  for (const size_t extent : shape) count *= extent;
  return count;
}

void SharedBuffer::Check(const char* letters, size_t item, const std::string& what) const {
  if (owner == nullptr) return;
  if (format.size() == 1 && std::strchr(letters, format[0]) != nullptr && item_size == item) return;
  throw Error(ErrorKind::kInput, what + ": elements of format '" + format + "' and " +
                                     std::to_string(item_size) + " bytes; expected one of '" + letters +
                                     "' and " + std::to_string(item) + " bytes");
}

SharedBuffer ReadBuffer(nb::handle object, const std::string& what) {
  SharedBuffer buffer;
  if (object.is_none()) return buffer;
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    throw Error(ErrorKind::kInput, what + ": expected an array whose elements lie one behind the other");
  }
  buffer.data = view->buf;
  buffer.format = LetterOf(view->format);
  buffer.item_size = static_cast<size_t>(view->itemsize);
  for (int i = 0; i < view->ndim; ++i) buffer.shape.push_back(static_cast<size_t>(view->shape[i]));
  buffer.owner = std::shared_ptr<Py_buffer>(view.release(), Release);
  return buffer;
}

IndexSpan AsIndices(const SharedBuffer& buffer, const std::string& what) {
  if (buffer.owner == nullptr) return {};
  const char letter = buffer.format.size() == 1 ? buffer.format[0] : '?';
  const bool is_signed = std::strchr("ilq", letter) != nullptr;
  const bool is_unsigned = std::strchr("ILQ", letter) != nullptr;
  if (is_signed && buffer.item_size == 8) return buffer.As<int64_t>("lq", what);
  if (is_signed && buffer.item_size == 4) return buffer.As<int32_t>("il", what);
  if (is_unsigned && buffer.item_size == 8) return buffer.As<uint64_t>("LQ", what);
  if (is_unsigned && buffer.item_size == 4) return buffer.As<uint32_t>("IL", what);
  throw Error(ErrorKind::kInput,
              what + ": elements of format '" + buffer.format + "'; expected whole numbers of 32 or 64 bits");
}

}  // namespace l2gcn::python
