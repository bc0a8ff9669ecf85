package flowsim.jobs.described;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/**
 * The scripts of {@link Script} through a source of the new kind, whose strategy makes the watermarks. The last word of an
 * entry names a split, or is null; {@code [step, "end_split", split]} ends one. Nobody assigns splits: every reader has the
 * outputs of those that its script names.
 */
final class ScriptSource
        implements Source<Tuple4<Integer, String, Long, long[]>, ScriptSource.NoSplit, Integer> {
    private final String scripts;

    ScriptSource(JsonNode scripts) {
        this.scripts = scripts.toString();
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.BOUNDED;
    }

    @Override
    public SourceReader<Tuple4<Integer, String, Long, long[]>, NoSplit> createReader(SourceReaderContext context)
            throws Exception {
        return new Reader(Event.JSON.readTree(scripts).get(context.getIndexOfSubtask()));
    }

    @Override
    public SplitEnumerator<NoSplit, Integer> createEnumerator(SplitEnumeratorContext<NoSplit> context) {
        return new NoSplits();
    }

    @Override
    public SplitEnumerator<NoSplit, Integer> restoreEnumerator(SplitEnumeratorContext<NoSplit> context, Integer state) {
        return new NoSplits();
    }

    @Override
    public SimpleVersionedSerializer<NoSplit> getSplitSerializer() {
        return new Nothing<>();
    }

    @Override
    public SimpleVersionedSerializer<Integer> getEnumeratorCheckpointSerializer() {
        return new Nothing<>();
    }

    private static final class Reader implements SourceReader<Tuple4<Integer, String, Long, long[]>, NoSplit> {
        private final JsonNode entries;
        private final Map<String, SourceOutput<Tuple4<Integer, String, Long, long[]>>> outputs = new LinkedHashMap<>();
        private boolean isOpen;
        private int at;
        private int ending = -1;
        private Long previous;

        Reader(JsonNode entries) {
            this.entries = entries;
        }

        @Override
        public InputStatus pollNext(ReaderOutput<Tuple4<Integer, String, Long, long[]>> main) {
            if (!isOpen) {
                isOpen = true;
                for (JsonNode entry : entries) {
                    if (isOfSplit(entry)) {
                        outputs.computeIfAbsent(split(entry), main::createOutputForSplit);
                    }
                }
            }
            if (at == entries.size()) {
                return InputStatus.END_OF_INPUT;
            }
            JsonNode entry = entries.get(at);
            int step = entry.get(0).asInt();
            if (!Steps.isGranted(step)) {
                return InputStatus.NOTHING_AVAILABLE;
            }
            at++;
            if (entry.get(1).asText().equals("end")) {
                at = entries.size();
                ending = step;
                return InputStatus.END_OF_INPUT;
            }
            play(entry, isOfSplit(entry) ? outputs.get(split(entry)) : main, main);
            if (step >= 0) {
                Steps.performed(step);
            }
            return InputStatus.MORE_AVAILABLE;
        }

        private void play(
                JsonNode entry,
                SourceOutput<Tuple4<Integer, String, Long, long[]>> output,
                ReaderOutput<Tuple4<Integer, String, Long, long[]>> main) {
            switch (entry.get(1).asText()) {
                case "r":
                    Tuple4<Integer, String, Long, long[]> event =
                            Event.of(entry.get(2), entry.get(3), entry.get(4), entry.get(6));
                    if (!entry.get(5).isNull()) {
                        previous = entry.get(5).asLong();
                    }
                    if (previous == null) {
                        output.collect(event);
                    } else {
                        output.collect(event, previous);
                    }
                    break;
                case "w":
                    output.emitWatermark(new Watermark(entry.get(2).asLong()));
                    break;
                case "i":
                    output.markIdle();
                    break;
                default:
                    main.releaseOutputForSplit(split(entry));
            }
        }

        private static boolean isOfSplit(JsonNode entry) {
            return !entry.get(1).asText().equals("end") && !entry.get(entry.size() - 1).isNull();
        }

        private static String split(JsonNode entry) {
            return entry.get(entry.size() - 1).asText();
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            return at == entries.size()
                    ? CompletableFuture.completedFuture(null)
                    : Steps.whenGranted(entries.get(at).get(0).asInt());
        }

        /** By now the task has emitted its last watermark and the end of its data. */
        @Override
        public void close() {
            if (ending >= 0) {
                Steps.performed(ending);
            }
        }

        @Override
        public void start() {}

        @Override
        public List<NoSplit> snapshotState(long checkpoint) {
            return new ArrayList<>();
        }

        @Override
        public void addSplits(List<NoSplit> splits) {}

        @Override
        public void notifyNoMoreSplits() {}
    }

    private static final class NoSplits implements SplitEnumerator<NoSplit, Integer> {
        @Override
        public void start() {}

        @Override
        public void handleSplitRequest(int subtask, String host) {}

        @Override
        public void addSplitsBack(List<NoSplit> splits, int subtask) {}

        @Override
        public void addReader(int subtask) {}

        @Override
        public Integer snapshotState(long checkpoint) {
            return 0;
        }

        @Override
        public void close() {}
    }

    static final class NoSplit implements SourceSplit {
        @Override
        public String splitId() {
            return "none";
        }
    }

    /** Nothing is ever kept or sent. */
    private static final class Nothing<T> implements SimpleVersionedSerializer<T> {
        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(T value) {
            return new byte[0];
        }

        @Override
        public T deserialize(int version, byte[] bytes) {
            return null;
        }
    }
}
