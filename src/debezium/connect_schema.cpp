#include "debezium/connect_schema.h"

namespace cuckooguard::debezium {
namespace {

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
  ColumnPlan plan{.is_there = true, .connector = connector};
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

}  // namespace

ColumnPlans plans_without_schema(std::span<const Column> columns, Connector connector) {
  ColumnPlans plans;
  for (const Column& column : columns) {
    plans.push_back(plan_of(column, std::nullopt, connector));
  }
  return plans;
}

std::expected<ColumnPlans, std::string> plans_of(Document& document,
                                                 Document::Index schema,
                                                 Image image,
                                                 std::span<const Column> columns,
                                                 Connector connector) {
  Field row;
  Trouble trouble = read_field(document, schema, row);
  if (image == Image::envelope && trouble == nullptr && row.fields) {
    const Document::Index members = *row.fields;
    row.fields.reset();
    trouble = for_each_field(document, members, [&row](const Field& member) {
      if (member.field == "after") {
        row.fields = member.fields;
      }
    });
  }
  if (trouble != nullptr || !row.fields) {
    return std::unexpected(
        "a message's schema is not that of a change, as Debezium's connectors write it");
  }
  ColumnPlans plans(columns.size());
  trouble = for_each_field(document, *row.fields, [&](const Field& field) {
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
