package org.apache.flink.runtime.source.coordinator;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkAlignmentParams;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.runtime.operators.coordination.CoordinatorStore;
import org.apache.flink.runtime.operators.coordination.CoordinatorStoreImpl;
import org.apache.flink.runtime.operators.coordination.OperatorEvent;
import org.apache.flink.runtime.source.event.WatermarkAlignmentEvent;

/** The real coordinators of several sources of one job, without threads: they are told reports, and asked to announce. */
public final class AlignedGroup {
    /** Never constructed: only what a coordinator asks of it while it aligns is there. */
    private static final class Context extends SourceCoordinatorContext<SourceSplit> {
        private TreeMap<Integer, Long> sent;

        private Context() {
            super(null, null, 0, null, null, false);
        }

        @Override
        boolean isConcurrentExecutionAttemptsSupported() {
            return false;
        }

        @Override
        void sendEventToSourceOperatorIfTaskReady(int subtask, OperatorEvent event) {
            sent.put(subtask, ((WatermarkAlignmentEvent) event).getMaxWatermark());
        }
    }

    private final CoordinatorStore store = new CoordinatorStoreImpl();
    private final List<SourceCoordinator<SourceSplit, Object>> coordinators = new ArrayList<>();
    private final List<Context> contexts = new ArrayList<>();

    @SuppressWarnings("unchecked")
    public void add(String name, String group, long drift) throws Exception {
        Field unsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        Context context = (Context) ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(Context.class);
        context.sent = new TreeMap<>();
        Source<Object, SourceSplit, Object> source =
                (Source<Object, SourceSplit, Object>)
                        Proxy.newProxyInstance(
                                AlignedGroup.class.getClassLoader(),
                                new Class<?>[] {Source.class},
                                (proxy, method, arguments) -> null);
        store.putIfAbsent(group, new SourceCoordinator.WatermarkAggregator<String>());
        coordinators.add(
                new SourceCoordinator<>(
                        new JobID(),
                        name,
                        source,
                        context,
                        store,
                        new WatermarkAlignmentParams(drift, group, 1000),
                        null));
        contexts.add(context);
    }

    public void report(int source, int subtask, long watermark) throws Exception {
        Method handle =
                SourceCoordinator.class.getDeclaredMethod("handleReportedWatermark", int.class, Watermark.class);
        handle.setAccessible(true);
        handle.invoke(coordinators.get(source), subtask, new Watermark(watermark));
    }

    /** What each subtask is told, in the order of subtasks. */
    public String announce(int source) {
        Context context = contexts.get(source);
        context.sent.clear();
        coordinators.get(source).announceCombinedWatermark();
        return context.sent.toString();
    }
}
