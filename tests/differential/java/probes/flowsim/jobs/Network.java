package flowsim.jobs;

import java.lang.reflect.Field;
import java.util.List;
import org.apache.flink.runtime.io.network.NettyShuffleEnvironment;
import org.apache.flink.runtime.io.network.partition.ResultPartitionFactory;
import org.apache.flink.runtime.io.network.partition.consumer.SingleInputGateFactory;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.taskexecutor.TaskExecutor;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** The network settings of one job, of which Flink knows some only per cluster. */
public final class Network {
    static final Network DEFAULT = new Network(false, 2, 8);

    /** Whether tasks run in several task managers, so that most channels are remote and need credits. */
    final boolean spread;

    private final int exclusive;
    private final int floating;

    private Network(boolean spread, int exclusive, int floating) {
        this.spread = spread;
        this.exclusive = exclusive;
        this.floating = floating;
    }

    /** {@code {"spread": boolean, "exclusive": buffers per channel, "floating": buffers per gate}}. */
    public static Network of(JsonNode given) {
        return new Network(
                given.get("spread").asBoolean(), given.get("exclusive").asInt(), given.get("floating").asInt());
    }

    /** Sets the buffers of the gates that the task managers create from now on. */
    @SuppressWarnings("unchecked")
    void apply(MiniCluster cluster) throws ReflectiveOperationException {
        for (TaskExecutor executor : (List<TaskExecutor>) get(MiniCluster.class, cluster, "taskManagers")) {
            Object shuffle = get(TaskExecutor.class, executor, "shuffleEnvironment");
            Object gates = get(NettyShuffleEnvironment.class, shuffle, "singleInputGateFactory");
            set(SingleInputGateFactory.class, gates, "configuredNetworkBuffersPerChannel", exclusive);
            set(SingleInputGateFactory.class, gates, "floatingNetworkBuffersPerGate", floating);
            Object partitions = get(NettyShuffleEnvironment.class, shuffle, "resultPartitionFactory");
            set(ResultPartitionFactory.class, partitions, "configuredNetworkBuffersPerChannel", exclusive);
            set(ResultPartitionFactory.class, partitions, "floatingNetworkBuffersPerGate", floating);
        }
    }

    private static Object get(Class<?> type, Object target, String name) throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(target);
    }

    private static void set(Class<?> type, Object target, String name, int value) throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        field.setInt(target, value);
    }
}
