package flowsim.jobs.described;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** The records of described jobs: number, key, value, orders for the function that gets it. What functions emit is JSON. */
final class Event {
    static final ObjectMapper JSON = new ObjectMapper();
    static final TypeInformation<Tuple4<Integer, String, Long, long[]>> TYPE =
            Types.TUPLE(Types.INT, Types.STRING, Types.LONG, Types.PRIMITIVE_ARRAY(Types.LONG));

    private Event() {}

    static Tuple4<Integer, String, Long, long[]> of(JsonNode number, JsonNode key, JsonNode value, JsonNode orders) {
        long[] given = new long[orders == null ? 0 : orders.size()];
        for (int i = 0; i < given.length; i++) {
            given[i] = orders.get(i).asLong();
        }
        return Tuple4.of(number.asInt(), key.asText(), value.asLong(), given);
    }

    static String text(Object... values) {
        try {
            return JSON.writeValueAsString(values);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A record as a probe notes it: without its orders. */
    static String shown(Object record) {
        if (record instanceof Tuple4) {
            Tuple4<?, ?, ?, ?> event = (Tuple4<?, ?, ?, ?>) record;
            return text(event.f0, event.f1, event.f2);
        }
        return record.toString();
    }

    /** The key is a text such as k3 or k-3, or the number in it. */
    static TypeInformation<?> keyType(JsonNode given) {
        switch (given.get("key_type").asText()) {
            case "INT":
                return Types.INT;
            case "LONG":
                return Types.LONG;
            default:
                return Types.STRING;
        }
    }

    static KeySelector<Tuple4<Integer, String, Long, long[]>, Object> key(JsonNode given) {
        switch (given.get("key_type").asText()) {
            case "INT":
                return event -> Integer.valueOf(event.f1.substring(1));
            case "LONG":
                return event -> Long.valueOf(event.f1.substring(1));
            default:
                return event -> event.f1;
        }
    }
}
