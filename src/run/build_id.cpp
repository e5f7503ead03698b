#include "run/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace l2gcn {
namespace {

// The GNU build id among the notes of one segment.
std::string IdInNotes(const uint8_t* at, size_t bytes) {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note{};
    std::memcpy(&note, at, sizeof(note));
    const size_t name = (note.n_namesz + 3) / 4 * 4, content = (note.n_descsz + 3) / 4 * 4;
    if (sizeof(note) + name + content > bytes) return "";
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(at + sizeof(note), "GNU", 4) == 0) {
      std::string id;
      for (size_t i = 0; i < note.n_descsz; ++i) id += fmt::format("{:02x}", at[sizeof(note) + name + i]);
      return id;
    }
    at += sizeof(note) + name + content;
    bytes -= sizeof(note) + name + content;
  }
  return "";
}

struct Wanted {
  uintptr_t address;  // inside the module asked for
  std::string id;
};

int VisitModule(dl_phdr_info* module, size_t, void* data) {
  auto& wanted = *static_cast<Wanted*>(data);
  bool ours = false;
  std::string id;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = module->dlpi_phdr[i];
    const uintptr_t start = module->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && wanted.address >= start && wanted.address < start + part.p_memsz)
      ours = true;
    if (part.p_type == PT_NOTE && id.empty())
      id = IdInNotes(reinterpret_cast<const uint8_t*>(start), part.p_memsz);
  }
  if (!ours) return 0;
  wanted.id = id;
  return 1;
}

}  // namespace

std::string BuildId() {
  Wanted wanted{reinterpret_cast<uintptr_t>(&VisitModule), ""};
  dl_iterate_phdr(VisitModule, &wanted);
  return wanted.id;
}

}  // namespace l2gcn
