#include "debezium/connect_schema.h"

#include <array>

#include "keyspace/canonical_text.h"
#include "text/ascii.h"
#include "text/number.h"

namespace cuckooguard::debezium {
namespace {

using keyspace::ValueType;

// What is asked of one of a struct's fields, and of its own fields if it is a struct.
struct Field {
  std::string_view field;  // its name in the payload
  SchemaField type;
  std::optional<Document::Index> fields{};
};

Trouble read_parameters(Document& document, Document::Index object, SchemaField& type) {
  return document.for_each_member(object, [&](Name name, Document::Index& value) {
    Json json;
    const Trouble trouble = document.read(value, json);
    if (is(name, "scale")) {
      type.scale = json.text;
    } else if (is(name, "__debezium.source.column.type")) {
      type.source_type = json.text;
    }
    return trouble;
  });
}

Trouble read_field(Document& document, Document::Index object, Field& field) {
  return document.for_each_member(object, [&](Name name, Document::Index& value) -> Trouble {
    if (is(name, "fields")) {
      field.fields = value;
      return nullptr;
    }
    if (is(name, "parameters")) {
      return document.at(value) == '{' ? read_parameters(document, value, field.type) : nullptr;
    }
    std::string_view* const slot = is(name, "type")    ? &field.type.type
                                   : is(name, "name")  ? &field.type.name
                                   : is(name, "field") ? &field.field
                                                       : nullptr;
    if (slot == nullptr) {
      return nullptr;
    }
    Json json;
    const Trouble trouble = document.read(value, json);
    *slot = json.text;
    return trouble;
  });
}

ColumnPlan plan_of(const Column& column,
                   const std::optional<SchemaField>& field,
                   Connector connector) {
  ColumnPlan plan{.connector = connector};
  if (auto type = type_of(column, field)) {
    plan.type = *std::move(type);
    plan.refused = unsuitable(column, plan.type, connector);
  } else {
    plan.refused = std::move(type).error();
  }
  return plan;
}

// Calls visit(Field) of each of the fields that are at the place.
template <class Visit>
Trouble for_each_field(Document& document, Document::Index fields, const Visit& visit) {
  return document.for_each_element(fields, [&](Document::Index& element) {
    Field field;
    const Trouble trouble = read_field(document, element, field);
    if (trouble == nullptr) {
      visit(field);
    }
    return trouble;
  });
}

// The first that the type serves.
std::optional<ValueType> placeholder_for(const std::string& name,
                                         const ColumnType& type,
                                         Connector connector) {
  constexpr std::array kOfTexts{ValueType::text, ValueType::text_ci};
  constexpr std::array kOthers{ValueType::int64,
                               ValueType::numeric,
                               ValueType::text,
                               ValueType::uuid,
                               ValueType::date,
                               ValueType::bytea};
  const bool is_text = type.encoding == Encoding::text || type.encoding == Encoding::label;
  for (const ValueType each :
       is_text ? std::span<const ValueType>(kOfTexts) : std::span<const ValueType>(kOthers)) {
    if (!unsuitable(Column{.name = name, .placeholders = {each}}, type, connector)) {
      return each;
    }
  }
  return std::nullopt;
}

// Of a value without a schema.
std::optional<ValueType> placeholder_for(const Json& json) {
  if (json.kind == Json::Kind::number && text::number_of<std::int64_t>(json.text)) {
    return ValueType::int64;
  }
  const bool is_uuid = json.kind == Json::Kind::string &&
                       keyspace::is_canonical(ValueType::uuid, text::lower_case(json.text));
  return is_uuid ? std::optional(ValueType::uuid) : std::nullopt;
}

}  // namespace

std::expected<std::vector<KeyColumn>, std::string> key_columns(std::string_view key,
                                                               Connector connector) {
  Document document;
  std::optional<Document::Index> schema;
  bool has_payload = false;
  std::vector<KeyColumn> columns;
  Document::Index root = 0;
  Trouble trouble = document.open(key);
  if (trouble == nullptr) {
    trouble = document.for_each_member(root, [&](Name name, Document::Index& value) {
      if (is(name, "schema") && document.at(value) == '{') {
        schema = value;
      }
      has_payload = has_payload || is(name, "payload");
      Json json;
      const Trouble wrong = document.read(value, json);
      columns.push_back(
          {.name = std::string(document.text_of(name)), .placeholder = placeholder_for(json)});
      return wrong;
    });
  }
  if (trouble == nullptr && schema && has_payload) {
    columns.clear();
    Field row;
    trouble = read_field(document, *schema, row);
    if (trouble == nullptr && row.fields) {
      trouble = for_each_field(document, *row.fields, [&](const Field& field) {
        std::string name(field.field);
        const auto type = type_of(Column{.name = name}, field.type);
        columns.push_back({.name = name, .placeholder = placeholder_for(name, *type, connector)});
      });
    }
  }
  if (trouble != nullptr) {
    return std::unexpected(trouble);
  }
  return columns;
}

ColumnPlans plans_without_schema(std::span<const Column> columns, Connector connector) {
  ColumnPlans plans;
  for (const Column& column : columns) {
    plans.push_back(plan_of(column, std::nullopt, connector));
  }
  return plans;
}

std::expected<ColumnPlans, std::string> plans_of(Document& document,
                                                 Document::Index schema,
                                                 std::span<const Column> columns,
                                                 Connector connector) {
  Field envelope;
  std::optional<Document::Index> fields;
  Trouble trouble = read_field(document, schema, envelope);
  if (trouble == nullptr && envelope.fields) {
    trouble = for_each_field(document, *envelope.fields, [&fields](const Field& member) {
      fields = member.field == "after" ? member.fields : fields;
    });
  }
  if (trouble != nullptr || !fields) {
    return std::unexpected(
        "a message's schema is not that of a change, as Debezium's connectors write it");
  }
  ColumnPlans plans(columns.size());
  trouble = for_each_field(document, *fields, [&](const Field& field) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].name == field.field) {
        plans[i] = plan_of(columns[i], field.type, connector);
      }
    }
  });
  if (trouble != nullptr) {
    return std::unexpected(trouble);
  }
  return plans;
}

}  // namespace cuckooguard::debezium
