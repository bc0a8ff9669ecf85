package flowsim.conform;

import static flowsim.conform.Conductor.field;

import java.lang.reflect.Field;
import java.util.List;
import java.util.Map;
import org.apache.flink.runtime.io.network.NettyShuffleEnvironment;
import org.apache.flink.runtime.io.network.partition.ResultPartitionFactory;
import org.apache.flink.runtime.io.network.partition.consumer.SingleInputGateFactory;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.taskexecutor.TaskExecutor;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** The numbers of buffers of channels and gates, which are settings of the cluster: of each job as the job says. */
final class NetworkBuffers {
    private static final Map<String, String> OF_OUTPUTS =
            Map.of(
                    "exclusive", "configuredNetworkBuffersPerChannel",
                    "floating", "floatingNetworkBuffersPerGate",
                    "most_per_channel", "maxBuffersPerChannel",
                    "overdraft", "maxOverdraftBuffersPerGate");
    private static final Map<String, String> OF_INPUTS =
            Map.of("exclusive", "configuredNetworkBuffersPerChannel", "floating", "floatingNetworkBuffersPerGate");

    private NetworkBuffers() {}

    /** Lets the tasks that start from now on have these numbers of buffers. */
    @SuppressWarnings("unchecked")
    static void set(MiniCluster cluster, JsonNode numbers) throws ReflectiveOperationException {
        for (TaskExecutor executor : (List<TaskExecutor>) field(MiniCluster.class, cluster, "taskManagers")) {
            Object network = field(TaskExecutor.class, executor, "shuffleEnvironment");
            set(network, "resultPartitionFactory", ResultPartitionFactory.class, OF_OUTPUTS, numbers);
            set(network, "singleInputGateFactory", SingleInputGateFactory.class, OF_INPUTS, numbers);
        }
    }

    private static void set(
            Object network, String name, Class<?> type, Map<String, String> names, JsonNode numbers)
            throws ReflectiveOperationException {
        Object factory = field(NettyShuffleEnvironment.class, network, name);
        for (Map.Entry<String, String> each : names.entrySet()) {
            if (numbers.has(each.getKey())) {
                Field number = type.getDeclaredField(each.getValue());
                number.setAccessible(true);
                number.setInt(factory, numbers.get(each.getKey()).asInt());
            }
        }
    }
}
