package flowsim.differential;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.runtime.plugable.SerializationDelegate;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.runtime.partitioner.BroadcastPartitioner;
import org.apache.flink.streaming.runtime.partitioner.CustomPartitionerWrapper;
import org.apache.flink.streaming.runtime.partitioner.ForwardPartitioner;
import org.apache.flink.streaming.runtime.partitioner.GlobalPartitioner;
import org.apache.flink.streaming.runtime.partitioner.KeyGroupStreamPartitioner;
import org.apache.flink.streaming.runtime.partitioner.RebalancePartitioner;
import org.apache.flink.streaming.runtime.partitioner.RescalePartitioner;
import org.apache.flink.streaming.runtime.partitioner.ShufflePartitioner;
import org.apache.flink.streaming.runtime.partitioner.StreamPartitioner;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** A real partitioner, set up; values are keys in JSON, see {@link Keys}, and keyed by themselves. */
public final class Partitioners {
    private final StreamPartitioner<Object> partitioner;

    public Partitioners(String kind, int channels, int maxParallelism) {
        partitioner = make(kind, maxParallelism);
        partitioner.setup(channels);
    }

    private static StreamPartitioner<Object> make(String kind, int maxParallelism) {
        switch (kind) {
            case "FORWARD":
                return new ForwardPartitioner<>();
            case "REBALANCE":
                return new RebalancePartitioner<>();
            case "RESCALE":
                return new RescalePartitioner<>();
            case "SHUFFLE":
                return new ShufflePartitioner<>();
            case "BROADCAST":
                return new BroadcastPartitioner<>();
            case "GLOBAL":
                return new GlobalPartitioner<>();
            case "HASH":
                return new KeyGroupStreamPartitioner<>(Partitioners::keyOf, maxParallelism);
            case "CUSTOM":
                // The user's function of the test: any channel, also one that does not exist, or an error.
                return new CustomPartitionerWrapper<>(
                        (key, channels) -> {
                            int asked = (Integer) key;
                            if (asked > 99) {
                                throw new IllegalStateException("refused by the partitioner");
                            }
                            return asked;
                        },
                        Partitioners::keyOf);
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    private static Object keyOf(Object value) {
        if ("no key".equals(value)) {
            throw new IllegalStateException("refused by the key selector");
        }
        return value;
    }

    public String about() {
        return partitioner.toString() + " " + partitioner.isBroadcast() + " " + partitioner.isPointwise();
    }

    /** The channel that rebalance chose before its first record. */
    public int start() throws ReflectiveOperationException {
        Field field = RebalancePartitioner.class.getDeclaredField("nextChannelToSendTo");
        field.setAccessible(true);
        return field.getInt(partitioner);
    }

    /** The channel of each value, or the simple name of the exception. */
    public String select(String values) throws Exception {
        List<Object> answers = new ArrayList<>();
        for (JsonNode value : Keys.JSON.readTree(values)) {
            SerializationDelegate<StreamRecord<Object>> delegate = new SerializationDelegate<>(null);
            delegate.setInstance(new StreamRecord<>(Keys.of(value)));
            try {
                answers.add(partitioner.selectChannel(delegate));
            } catch (RuntimeException e) {
                answers.add(e.getClass().getSimpleName());
            }
        }
        return Keys.JSON.writeValueAsString(answers);
    }
}
