package flowsim.differential;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.runtime.executiongraph.ExecutionVertexInputInfo;
import org.apache.flink.runtime.executiongraph.IndexRange;
import org.apache.flink.runtime.executiongraph.JobVertexInputInfo;
import org.apache.flink.runtime.executiongraph.VertexInputInfoComputationUtils;

/** Who reads what: per target the partitions and their subpartitions, in the order of its channels. */
public final class Connections {
    private Connections() {}

    public static String pointwise(int sources, int targets, String subpartitions) throws Exception {
        return read(
                VertexInputInfoComputationUtils.computeVertexInputInfoForPointwise(
                        sources, targets, source -> Integer.valueOf(subpartitions.split(",")[source]), false));
    }

    public static String allToAll(int sources, int targets) throws Exception {
        return read(
                VertexInputInfoComputationUtils.computeVertexInputInfoForAllToAll(
                        sources, targets, source -> targets, false, false, false));
    }

    private static String read(JobVertexInputInfo info) throws Exception {
        Map<Integer, List<int[]>> targets = new TreeMap<>();
        for (ExecutionVertexInputInfo target : info.getExecutionVertexInputInfos()) {
            List<int[]> inputs = new ArrayList<>();
            for (Map.Entry<IndexRange, IndexRange> group : target.getConsumedSubpartitionGroups().entrySet()) {
                for (int p = group.getKey().getStartIndex(); p <= group.getKey().getEndIndex(); p++) {
                    for (int s = group.getValue().getStartIndex(); s <= group.getValue().getEndIndex(); s++) {
                        inputs.add(new int[] {p, s});
                    }
                }
            }
            targets.put(target.getSubtaskIndex(), inputs);
        }
        return Keys.JSON.writeValueAsString(targets.values());
    }
}
