package flowsim.conform;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.functions.Partitioner;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;

/** An operator of the plan, and its inputs. */
public final class PlanNode {
    final JsonNode json;
    private final Map<Integer, DataStream<Long>> streams;

    PlanNode(JsonNode json, Map<Integer, DataStream<Long>> streams) {
        this.json = json;
        this.streams = streams;
    }

    int id() {
        return json.get("id").asInt();
    }

    public String name() {
        return json.get("name").asText();
    }

    String kind() {
        return operator().get("kind").asText();
    }

    /** What the plan has under {@code operator}. */
    public JsonNode operator() {
        return json.get("operator");
    }

    /** The function of the user, of an operator with one. */
    public UserFunction function() {
        return new UserFunction(operator().get("function").asLong(), texts(operator().path("tags")).toArray(new String[0]));
    }

    static List<String> texts(JsonNode array) {
        List<String> found = new ArrayList<>();
        array.forEach(each -> found.add(each.asText()));
        return found;
    }

    /** One of its inputs, from 0. */
    public DataStream<Long> input(int index) {
        DataStream<Long> united = null;
        for (JsonNode edge : json.get("inputs")) {
            if (edge.get("input").asInt() == index) {
                DataStream<Long> one = partitioned(edge);
                united = united == null ? one : united.union(one);
            }
        }
        if (united == null) {
            throw new IllegalArgumentException(name() + " has no input " + index);
        }
        return united;
    }

    /** One of its inputs, by the key that it has there. */
    public KeyedStream<Long, Key> keyed(int index) {
        return input(index).keyBy(new Selector(operator().get("keys").get(index).asLong()), States.KEY);
    }

    private DataStream<Long> partitioned(JsonNode edge) {
        DataStream<Long> stream = streams.get(edge.get("node").asInt());
        if (edge.hasNonNull("side_output")) {
            stream =
                    ((SingleOutputStreamOperator<Long>) stream)
                            .getSideOutput(UserFunction.tag(edge.get("side_output").asText()));
        }
        switch (edge.path("partitioner").asText("")) {
            case "FORWARD":
                return stream.forward();
            case "REBALANCE":
                return stream.rebalance();
            case "RESCALE":
                return stream.rescale();
            case "SHUFFLE":
                return stream.shuffle();
            case "BROADCAST":
                return stream.broadcast();
            case "GLOBAL":
                return stream.global();
            case "HASH": // also before an operator without keys
                return stream.keyBy(new Selector(edge.get("key").asLong()), States.KEY);
            case "CUSTOM":
                return stream.partitionCustom(
                        new Custom(edge.get("partition").asLong()), new Selector(edge.get("key").asLong()));
            default:
                return stream;
        }
    }

    private static final class Selector implements KeySelector<Long, Key> {
        private final long object;

        Selector(long object) {
            this.object = object;
        }

        @Override
        public Key getKey(Long value) {
            return Key.of(Bridge.call(new Host() {}, object, "key", value, 0, ""));
        }
    }

    private static final class Custom implements Partitioner<Key> {
        private final long object;

        Custom(long object) {
            this.object = object;
        }

        @Override
        public int partition(Key key, int channels) {
            return Integer.parseInt(Bridge.call(new Host() {}, object, "partition", channels, 0, key.text));
        }
    }
}
