package flowsim.differential;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.functions.aggregation.AggregationFunction.AggregationType;
import org.apache.flink.streaming.api.functions.aggregation.ComparableAggregator;
import org.apache.flink.streaming.api.functions.aggregation.SumAggregator;

/** Reduces records with Flink's aggregators, from the first record on, and answers every intermediate result. */
public final class Aggregators {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Aggregators() {}

    /** Answers the reduction after each record, or {"error": class}, which ends it. */
    public static String run(String text) throws Exception {
        JsonNode script = JSON.readTree(text);
        List<Object> answers = new ArrayList<>();
        try {
            TypeInformation<Object> type = type(script);
            ReduceFunction<Object> aggregator = aggregator(script, type);
            TypeSerializer<Object> serializer = type.createSerializer(new SerializerConfigImpl());
            Object current = null;
            for (JsonNode node : script.get("records")) {
                Object value = record(script.get("container").asText(), node);
                // The heap copies nothing; Flink's operator hands on what it keeps, so a copy shows what it was then.
                current = current == null ? value : aggregator.reduce(serializer.copy(current), value);
                answers.add(described(current));
            }
        } catch (Exception error) {
            answers.add(Map.of("error", error.getClass().getSimpleName()));
        }
        return JSON.writeValueAsString(answers);
    }

    private static ReduceFunction<Object> aggregator(JsonNode script, TypeInformation<Object> type) throws Exception {
        JsonNode field = script.get("field");
        String how = script.get("how").asText();
        ExecutionConfig config = new ExecutionConfig();
        if (how.equals("SUM")) {
            return field.isTextual()
                    ? new SumAggregator<>(field.asText(), type, config)
                    : new SumAggregator<>(field.asInt(), type, config);
        }
        boolean first = script.get("first").asBoolean();
        AggregationType kind = AggregationType.valueOf(how);
        return field.isTextual()
                ? new ComparableAggregator<>(field.asText(), type, kind, first, config)
                : new ComparableAggregator<>(field.asInt(), type, kind, first, config);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static TypeInformation<Object> type(JsonNode script) {
        List<TypeInformation<?>> fields = new ArrayList<>();
        script.get("types").forEach(node -> fields.add(basic(node.asText())));
        TypeInformation<?>[] array = fields.toArray(new TypeInformation<?>[0]);
        switch (script.get("container").asText()) {
            case "TUPLE":
                return (TypeInformation) new TupleTypeInfo<>(array);
            default:
                return (TypeInformation) array[0];
        }
    }

    private static TypeInformation<?> basic(String name) {
        Map<String, TypeInformation<?>> known = new HashMap<>();
        known.put("BYTE", Types.BYTE);
        known.put("SHORT", Types.SHORT);
        known.put("INT", Types.INT);
        known.put("LONG", Types.LONG);
        known.put("FLOAT", Types.FLOAT);
        known.put("DOUBLE", Types.DOUBLE);
        known.put("STRING", Types.STRING);
        known.put("BOOLEAN", Types.BOOLEAN);
        return known.get(name);
    }

    private static Object record(String container, JsonNode node) {
        List<Object> fields = new ArrayList<>();
        node.forEach(field -> fields.add(Keys.of(field)));
        switch (container) {
            case "TUPLE":
                Tuple tuple = Tuple.newInstance(fields.size());
                for (int i = 0; i < fields.size(); i++) {
                    tuple.setField(fields.get(i), i);
                }
                return tuple;
            default:
                return fields.get(0);
        }
    }

    private static List<Object> described(Object record) {
        List<Object> found = new ArrayList<>();
        if (record instanceof Tuple) {
            for (int i = 0; i < ((Tuple) record).getArity(); i++) {
                found.add(plain(((Tuple) record).getField(i)));
            }
        } else {
            found.add(plain(record));
        }
        return found;
    }

    private static Object plain(Object value) {
        if (value instanceof Double) {
            return "d" + Double.doubleToLongBits((Double) value);
        }
        return value instanceof Float ? "f" + Float.floatToIntBits((Float) value) : value;
    }
}
