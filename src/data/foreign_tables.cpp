#include "data/foreign_tables.h"

#include <filesystem>

#include "core/error_format.h"
#include "data/spellings.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

using namespace std::string_view_literals;

constexpr size_t kForeignBytes = 4096;

struct ForeignFormat {
  std::string_view magic;      // The file begins with it.
  std::string_view holds;      // It stands somewhere in the first bytes; empty: nothing need stand there.
  std::string_view extension;  // In place of `holds`, the file's name may end so.
  const char* name;
  const char* reader;  // Python that reads `FILE`; null: `advice` says what to do.
  const char* advice = nullptr;
};

constexpr ForeignFormat kFormats[] = {
    {"PAR1", "", "", "a Parquet file", "pandas.read_parquet('FILE')"},
    {"ARROW1", "", "", "a Feather file", "pandas.read_feather('FILE')"},
    {"FEA1", "", "", "a Feather file", "pandas.read_feather('FILE')"},
    {"PK\x03\x04", "opendocument.spreadsheet", ".ods", "an OpenDocument spreadsheet",
     "pandas.read_excel('FILE', engine='odf')"},
    {"PK\x03\x04", "[Content_Types].xml", ".xlsx", "an Excel workbook", "pandas.read_excel('FILE')"},
    {"PK\x03\x04", "docProps/", ".xlsm", "an Excel workbook", "pandas.read_excel('FILE')"},
    {"PK\x03\x04", "", "", "a zip archive", nullptr, "unpack it first"},
    {"\xd0\xcf\x11\xe0", "", "", "an old Excel workbook", "pandas.read_excel('FILE')"},
    {"\x89HDF\r\n", "", "", "an HDF5 file", "pandas.read_hdf('FILE')"},
    {"\x93NUMPY", "", "", "a NumPy array", nullptr, "give it with --features or --labels"},
    {"SQLite format 3\0"sv, "", "", "an SQLite database", nullptr,
     "export the table with: sqlite3 -header -csv FILE 'select * from TABLE' > FILE.csv"},
};

bool IsOfFormat(const ForeignFormat& format, const std::string& where, std::string_view start) {
  if (!start.starts_with(format.magic)) return false;
  if (format.holds.empty()) return true;
  return start.find(format.holds) != start.npos ||
         LowerCase(fs::path(where).extension().string()) == format.extension;
}

// The first character from `at` on that is no white space; '\0' where there is none.
char NextCharacter(std::string_view text, size_t& at) {
  at = text.find_first_not_of(" \t\r\n", at);
  return at == text.npos ? '\0' : text[at];
}

// Python that reads a JSON table; null where the text is none.
const char* JsonReader(std::string_view start) {
  size_t at = 0;
  const char opening = NextCharacter(start, at);
  if (opening != '{' && opening != '[') return nullptr;
  const char next = NextCharacter(start, ++at);
  if (std::string_view("\"[{").find(next) == std::string_view::npos) return nullptr;
  const size_t second_line = start.find("}\n");
  size_t behind = second_line == start.npos ? 0 : second_line + 2;
  const bool lines = opening == '{' && behind > 0 && NextCharacter(start, behind) == '{';
  return lines ? "pandas.read_json('FILE', lines=True)" : "pandas.read_json('FILE')";
}

std::string WithName(std::string text, const std::string& name) {
  for (size_t at = text.find("FILE"); at != text.npos; at = text.find("FILE", at + name.size()))
    text.replace(at, 4, name);
  return text;
}

[[noreturn]] void RefuseForeign(const std::string& where, const char* name, const char* reader,
                                const char* advice) {
  const std::string file = IsPlainName(where) ? where : "FILE";
  const std::string csv = file == where ? fs::path(where).replace_extension(".csv").string() : "FILE.csv";
  const std::string what =
      reader == nullptr
          ? WithName(advice, file)
          : fmt::format("convert it with: python3 -c \"import pandas; {}.to_csv('{}', index=False)\"",
                        WithName(reader, file), csv);
  ThrowInput("{}: is {}; tables are read from text (.csv, .tsv, .txt, also .gz and .zst): {}", where, name,
             what);
}

}  // namespace

void RefuseForeignTable(const std::string& where, std::string_view start) {
  start = start.substr(0, kForeignBytes);
  for (const ForeignFormat& format : kFormats) {
    if (IsOfFormat(format, where, start)) RefuseForeign(where, format.name, format.reader, format.advice);
  }
  if (const char* reader = JsonReader(start); reader != nullptr)
    RefuseForeign(where, "JSON", reader, nullptr);
}

}  // namespace l2gcn
