package flowsim.jobs.described;

import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;

/** Reductions of all records of a key so far, by the value of the records. */
final class Reductions {
    private Reductions() {}

    static SingleOutputStreamOperator<Tuple4<Integer, String, Long, long[]>> of(
            KeyedStream<Tuple4<Integer, String, Long, long[]>, Object> keyed, JsonNode given) {
        boolean first = given.get("first").asBoolean();
        switch (given.get("how").asText()) {
            case "sum":
                return keyed.sum(2);
            case "min":
                return keyed.min(2);
            case "max":
                return keyed.max(2);
            case "min_by":
                return keyed.minBy(2, first);
            case "max_by":
                return keyed.maxBy(2, first);
            default:
                return keyed.reduce(Reductions::latestWithSum);
        }
    }

    static Tuple4<Integer, String, Long, long[]> latestWithSum(
            Tuple4<Integer, String, Long, long[]> a, Tuple4<Integer, String, Long, long[]> b) {
        return Tuple4.of(b.f0, b.f1, a.f2 + b.f2, b.f3);
    }
}
