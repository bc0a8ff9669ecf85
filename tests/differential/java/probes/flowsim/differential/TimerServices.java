package flowsim.differential;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.core.memory.DataOutputViewStreamWrapper;
import org.apache.flink.runtime.metrics.groups.TaskIOMetricGroup;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSetFactory;
import org.apache.flink.streaming.api.operators.InternalTimeServiceManagerImpl;
import org.apache.flink.streaming.api.operators.InternalTimer;
import org.apache.flink.streaming.api.operators.InternalTimerService;
import org.apache.flink.streaming.api.operators.InternalTimerServiceImpl;
import org.apache.flink.streaming.api.operators.InternalTimerServiceSerializationProxy;
import org.apache.flink.streaming.api.operators.InternalTimersSnapshot;
import org.apache.flink.streaming.api.operators.KeyContext;
import org.apache.flink.streaming.api.operators.TimerHeapInternalTimer;
import org.apache.flink.streaming.api.operators.Triggerable;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeServiceUtil;
import org.apache.flink.util.clock.Clock;

/** The timer services of one operator under one real manager, with callbacks that follow rules; runs a whole script. */
public final class TimerServices implements KeyContext {
    private static final int MOST_ANSWERS = 60;

    private final int maxParallelism;
    private final String keyKind;
    private final String namespaceKind;
    private final String[] names;
    private final List<long[]> rules = new ArrayList<>();
    private final StringBuilder told = new StringBuilder();
    private KeyGroupRange range;
    private InternalTimeServiceManagerImpl<Object> manager;
    private TaskIOMetricGroup metrics;
    private Time time;
    private Map<String, InternalTimerService<Object>> services;
    private Object currentKey;
    private boolean cancelled;
    private int answered;

    private TimerServices(String[] header) throws Exception {
        maxParallelism = Integer.parseInt(header[0]);
        range = new KeyGroupRange(0, maxParallelism - 1);
        keyKind = header[1];
        namespaceKind = header[2];
        names = header[3].split(",");
        if (header.length > 4) {
            for (String rule : header[4].split(";")) {
                String[] parts = rule.split(",");
                long[] numbers = new long[parts.length];
                for (int i = 0; i < parts.length; i++) {
                    numbers[i] = Long.parseLong(parts[i]);
                }
                rules.add(numbers);
            }
        }
        begin(new TreeMap<>());
    }

    /** One line of what happened per command; the first line of the script says what there is. */
    public static String run(String script) throws Exception {
        String[] lines = script.split("\n");
        TimerServices driver = new TimerServices(lines[0].split(" "));
        StringJoiner answers = new StringJoiner("\n");
        for (int i = 1; i < lines.length; i++) {
            answers.add(driver.execute(lines[i].split(" ")));
        }
        return answers.toString();
    }

    /** Delays of SystemProcessingTimeService for pairs of registered time and now. */
    public static String delays(String script) {
        StringJoiner answers = new StringJoiner(" ");
        for (String line : script.split("\n")) {
            String[] pair = line.split(" ");
            long delay = ProcessingTimeServiceUtil.getProcessingTimeDelay(Long.parseLong(pair[0]), Long.parseLong(pair[1]));
            answers.add("" + delay);
        }
        return answers.toString();
    }

    private void begin(Map<Integer, byte[]> snapshots) throws Exception {
        metrics = UnregisteredMetricGroups.createUnregisteredTaskMetricGroup().getIOMetricGroup();
        Time old = time;
        time = new Time();
        time.now = old == null ? 0 : old.now;
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        manager = InternalTimeServiceManagerImpl.create(
                metrics, new HeapPriorityQueueSetFactory(range, maxParallelism, 128), range, loader, this, time,
                new ArrayList<>(), () -> cancelled);
        for (Map.Entry<Integer, byte[]> one : snapshots.entrySet()) {
            new InternalTimerServiceSerializationProxy<>(manager, loader, one.getKey())
                    .read(new ByteArrayInputStream(one.getValue()));
        }
        services = new TreeMap<>();
        for (String name : names) {
            services.put(name, manager.getInternalTimerService(name, keySerializer(), namespaceSerializer(), new Told(name)));
        }
    }

    private String execute(String[] command) throws Exception {
        told.setLength(0);
        switch (command[0]) {
            case "re": case "de": case "rp": case "dp":
                currentKey = key(command[2]);
                change(command[0], services.get(command[1]), namespace(Long.parseLong(command[3])), Long.parseLong(command[4]));
                break;
            case "wm":
                manager.advanceWatermark(new Watermark(Long.parseLong(command[1])));
                break;
            case "try":
                int[] asked = {0};
                boolean done = manager.tryAdvanceWatermark(
                        new Watermark(Long.parseLong(command[1])),
                        () -> command[2].charAt(asked[0]++ % command[2].length()) == '1');
                told.append(done ? "done " : "stopped ");
                break;
            case "pt":
                time.advance(Long.parseLong(command[1]));
                break;
            case "cancel":
                cancelled = "1".equals(command[1]);
                break;
            case "snapshot":
                snapshot(Integer.parseInt(command[1]));
                break;
            case "restore":
                restore(Integer.parseInt(command[1]), Integer.parseInt(command[2]));
                break;
            default:
                throw new IllegalArgumentException(command[0]);
        }
        for (String name : names) {
            InternalTimerService<Object> service = services.get(name);
            InternalTimerServiceImpl<?, ?> real = (InternalTimerServiceImpl<?, ?>) service;
            told.append("| ").append(real.numEventTimeTimers()).append(' ').append(real.numProcessingTimeTimers());
            told.append(' ').append(service.currentWatermark()).append(' ');
        }
        told.append("| ").append(metrics.getNumFiredTimers().getCount()).append(" |");
        for (Scheduled one : time.scheduled) {
            if (one.live) {
                told.append(' ').append(one.timestamp);
            }
        }
        return told.toString();
    }

    private void snapshot(int group) {
        for (String name : names) {
            InternalTimersSnapshot<?, ?> shot = ((InternalTimerServiceImpl<?, ?>) services.get(name)).snapshotTimersForKeyGroup(group);
            told.append(name).append(" e");
            shot.getEventTimeTimers().forEach(this::tell);
            told.append(" p");
            shot.getProcessingTimeTimers().forEach(this::tell);
            told.append(' ');
        }
    }

    private void tell(TimerHeapInternalTimer<?, ?> timer) {
        told.append(' ').append(timer.getTimestamp()).append(',').append(timer.getKey()).append(',');
        told.append(number(timer.getNamespace()));
    }

    private void restore(int first, int last) throws Exception {
        Map<Integer, byte[]> snapshots = new TreeMap<>();
        for (int group = Math.max(first, range.getStartKeyGroup()); group <= Math.min(last, range.getEndKeyGroup()); group++) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            new InternalTimerServiceSerializationProxy<>(manager, group).write(new DataOutputViewStreamWrapper(bytes));
            snapshots.put(group, bytes.toByteArray());
        }
        begin(snapshots);
    }

    private void change(String what, InternalTimerService<Object> service, Object namespace, long timestamp) {
        switch (what) {
            case "re": service.registerEventTimeTimer(namespace, timestamp); break;
            case "de": service.deleteEventTimeTimer(namespace, timestamp); break;
            case "rp": service.registerProcessingTimeTimer(namespace, timestamp); break;
            default: service.deleteProcessingTimeTimer(namespace, timestamp);
        }
    }

    private Object key(String text) {
        return "long".equals(keyKind) ? (Object) Long.valueOf(text) : text;
    }

    @SuppressWarnings("unchecked")
    private TypeSerializer<Object> keySerializer() {
        return (TypeSerializer<Object>) ("long".equals(keyKind) ? LongSerializer.INSTANCE : (TypeSerializer<?>) StringSerializer.INSTANCE);
    }

    private Object namespace(long number) {
        switch (namespaceKind) {
            case "void": return VoidNamespace.INSTANCE;
            case "window": return new TimeWindow(number * 1000, number * 1000 + 1000);
            default: return "n" + number;
        }
    }

    private String number(Object namespace) {
        switch (namespaceKind) {
            case "void": return "0";
            case "window": return "" + ((TimeWindow) namespace).getStart() / 1000;
            default: return namespace.toString().substring(1);
        }
    }

    @SuppressWarnings("unchecked")
    private TypeSerializer<Object> namespaceSerializer() {
        TypeSerializer<?> found = "void".equals(namespaceKind) ? VoidNamespaceSerializer.INSTANCE
                : "window".equals(namespaceKind) ? new TimeWindow.Serializer() : StringSerializer.INSTANCE;
        return (TypeSerializer<Object>) found;
    }

    @Override
    public void setCurrentKey(Object key) {
        currentKey = key;
    }

    @Override
    public Object getCurrentKey() {
        return currentKey;
    }

    private final class Told implements Triggerable<Object, Object> {
        private final String name;

        Told(String name) {
            this.name = name;
        }

        @Override
        public void onEventTime(InternalTimer<Object, Object> timer) {
            fired(0, timer);
        }

        @Override
        public void onProcessingTime(InternalTimer<Object, Object> timer) {
            fired(1, timer);
        }

        private void fired(int domain, InternalTimer<Object, Object> timer) {
            long timestamp = timer.getTimestamp();
            told.append(name).append(domain == 0 ? " E" : " P").append(timestamp).append(',').append(timer.getKey()).append(',');
            told.append(number(timer.getNamespace())).append(',').append(currentKey).append(',');
            told.append(services.get(name).currentWatermark()).append(' ');
            for (long[] rule : rules) {
                // domain, modulus, remainder, service, what, namespace, delta
                if (rule[0] == domain && Math.floorMod(timestamp, rule[1]) == rule[2] && answered < MOST_ANSWERS) {
                    answered++;
                    InternalTimerService<Object> service = services.get(names[(int) rule[3] % names.length]);
                    String what = new String[] {"re", "de", "rp", "dp"}[(int) rule[4]];
                    change(what, service, namespace(rule[5]), timestamp + rule[6]);
                }
            }
        }
    }

    private static final class Scheduled extends CompletableFuture<Void> implements ScheduledFuture<Void> {
        private final long timestamp;
        private final ProcessingTimeCallback callback;
        private boolean live = true;

        Scheduled(long timestamp, ProcessingTimeCallback callback) {
            this.timestamp = timestamp;
            this.callback = callback;
        }

        @Override
        public boolean cancel(boolean interrupt) {
            live = false;
            return true;
        }

        @Override
        public long getDelay(java.util.concurrent.TimeUnit unit) {
            return 0;
        }

        @Override
        public int compareTo(java.util.concurrent.Delayed other) {
            return 0;
        }

        private interface ProcessingTimeCallback
                extends org.apache.flink.api.common.operators.ProcessingTimeService.ProcessingTimeCallback {}
    }

    /** Processing time that a script moves; a timer is due when its registered time has come. */
    private static final class Time implements ProcessingTimeService {
        private final List<Scheduled> scheduled = new ArrayList<>();
        private long now;

        void advance(long to) throws Exception {
            now = to;
            for (int round = 0; round < 200; round++) {
                Scheduled due = null;
                for (Scheduled one : scheduled) {
                    if (one.live && one.timestamp <= now && (due == null || one.timestamp < due.timestamp)) {
                        due = one;
                    }
                }
                if (due == null) {
                    return;
                }
                due.live = false;
                due.callback.onProcessingTime(due.timestamp);
            }
        }

        @Override
        public long getCurrentProcessingTime() {
            return now;
        }

        @Override
        public Clock getClock() {
            throw new UnsupportedOperationException();
        }

        @Override
        public ScheduledFuture<?> registerTimer(
                long timestamp, org.apache.flink.api.common.operators.ProcessingTimeService.ProcessingTimeCallback callback) {
            Scheduled one = new Scheduled(timestamp, callback::onProcessingTime);
            scheduled.add(one);
            return one;
        }

        @Override
        public ScheduledFuture<?> scheduleAtFixedRate(
                org.apache.flink.api.common.operators.ProcessingTimeService.ProcessingTimeCallback callback, long delay, long period) {
            throw new UnsupportedOperationException();
        }

        @Override
        public ScheduledFuture<?> scheduleWithFixedDelay(
                org.apache.flink.api.common.operators.ProcessingTimeService.ProcessingTimeCallback callback, long delay, long period) {
            throw new UnsupportedOperationException();
        }

        @Override
        public CompletableFuture<Void> quiesce() {
            throw new UnsupportedOperationException();
        }
    }
}
