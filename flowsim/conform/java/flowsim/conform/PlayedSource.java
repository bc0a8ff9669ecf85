package flowsim.conform;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
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
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** Plays what the readers of a simulated source read; the strategy of the job makes the watermarks. */
final class PlayedSource implements Source<Long, PlayedSource.Position, Integer> {
    private final int node;
    private final String scripts;

    PlayedSource(int node, JsonNode scripts) {
        this.node = node;
        this.scripts = scripts.toString();
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.BOUNDED;
    }

    @Override
    public SourceReader<Long, Position> createReader(SourceReaderContext context) throws Exception {
        ManualTime.useFor(context);
        int subtask = context.getIndexOfSubtask();
        JsonNode all = Script.parsed(scripts);
        Script script = new Script(node, subtask, subtask < all.size() ? all.get(subtask) : Script.parsed("[]"));
        boolean hasSnapshot =
                ManualTime.taskOf(context).getEnvironment().getTaskStateManager().getRestoreCheckpointId().isPresent();
        return new Reader(script, Failures.of(node, subtask, Seen.attemptOf(context)), hasSnapshot);
    }

    @Override
    public SplitEnumerator<Position, Integer> createEnumerator(SplitEnumeratorContext<Position> context) {
        return new NoAssignment();
    }

    @Override
    public SplitEnumerator<Position, Integer> restoreEnumerator(
            SplitEnumeratorContext<Position> context, Integer state) {
        return new NoAssignment();
    }

    @Override
    public SimpleVersionedSerializer<Position> getSplitSerializer() {
        return new Texts<Position>() {
            @Override
            public Position of(String text) {
                return new Position(text);
            }
        };
    }

    @Override
    public SimpleVersionedSerializer<Integer> getEnumeratorCheckpointSerializer() {
        return new Texts<Integer>() {
            @Override
            public Integer of(String text) {
                return Integer.valueOf(text);
            }
        };
    }

    private static final class Reader implements SourceReader<Long, Position> {
        private final Script script;
        private final Failures failures;
        private final Map<String, SourceOutput<Long>> outputs = new LinkedHashMap<>();
        private final Set<String> paused = new HashSet<>();
        private final Map<String, Deque<JsonNode>> held = new LinkedHashMap<>();
        private final boolean hasSnapshot;
        private boolean isRestored;
        private boolean hasOutputs;
        private boolean isConducted;
        private CompletableFuture<Void> available = CompletableFuture.completedFuture(null);

        Reader(Script script, Failures failures, boolean hasSnapshot) {
            this.script = script;
            this.hasSnapshot = hasSnapshot;
            this.failures = failures;
        }

        @Override
        public void start() {
            if (!isRestored) {
                script.start();
                script.at = hasSnapshot ? script.entries.length : 0; // nothing is stored of a subtask that had finished
            }
        }

        @Override
        public void addSplits(List<Position> splits) {
            for (Position position : splits) {
                isRestored = true;
                script.restore(position.text);
            }
        }

        @Override
        public InputStatus pollNext(ReaderOutput<Long> main) {
            createOutputs(main);
            if (!isConducted) {
                // All tasks run before the first of them gets something.
                isConducted = true;
                waitUntil(ManualTime.nowNanos());
                return InputStatus.NOTHING_AVAILABLE;
            }
            for (Map.Entry<String, Deque<JsonNode>> each : held.entrySet()) {
                if (!paused.contains(each.getKey())) {
                    play(each.getValue().poll(), main);
                    if (each.getValue().isEmpty()) {
                        held.remove(each.getKey());
                    }
                    return InputStatus.MORE_AVAILABLE;
                }
            }
            long due = script.waitsUntil();
            if (due >= 0) {
                waitUntil(due);
                return InputStatus.NOTHING_AVAILABLE;
            }
            if (script.isOver()) {
                if (held.isEmpty()) {
                    script.end();
                    return InputStatus.END_OF_INPUT;
                }
                for (String split : new ArrayList<>(outputs.keySet())) {
                    if (!held.containsKey(split)) {
                        main.releaseOutputForSplit(split);
                        outputs.remove(split);
                    }
                }
                available = new CompletableFuture<>();
                return InputStatus.NOTHING_AVAILABLE;
            }
            JsonNode entry = script.entry();
            script.at++;
            String split = Script.split(entry);
            if (split == null && entry.get(1).asText().equals("end")) {
                script.at = script.entries.length;
            } else if (paused.contains(split)) {
                held.computeIfAbsent(split, ignored -> new ArrayDeque<>()).add(entry);
            } else {
                play(entry, main);
            }
            return InputStatus.MORE_AVAILABLE;
        }

        private void createOutputs(ReaderOutput<Long> main) {
            if (hasOutputs) {
                return;
            }
            hasOutputs = true;
            if (hasSnapshot && !isRestored) {
                return;
            }
            if (isRestored) {
                // Flink makes an output for every split that it restores; a position is no split that has watermarks.
                main.releaseOutputForSplit(new Position(script.position()).splitId());
            }
            Map<String, JsonNode> last = new LinkedHashMap<>();
            for (int index = 0; index < script.at; index++) {
                if (!script.entries[index].get(1).asText().equals("sleep")) {
                    last.put(Script.split(script.entries[index]), script.entries[index]);
                }
            }
            for (String split : script.splits()) {
                JsonNode before = last.get(split);
                boolean hasBegun = before != null || !script.begins(split);
                if (hasBegun && (before == null || !before.get(1).asText().equals("end"))) {
                    outputs.put(split, main.createOutputForSplit(split));
                }
            }
            last.forEach(
                    (split, entry) -> {
                        if (entry.get(1).asText().equals("i")) {
                            (split == null ? main : outputs.get(split)).markIdle();
                        }
                    });
        }

        private void play(JsonNode entry, ReaderOutput<Long> main) {
            String split = Script.split(entry);
            SourceOutput<Long> output = split == null ? main : outputs.get(split);
            switch (entry.get(1).asText()) {
                case "r":
                    Pauses.beforeRecord(script.node, script.subtask);
                    failures.beforeRecord(script.emitted++);
                    if (!entry.get(3).isNull()) {
                        script.previous = entry.get(3).asLong();
                    }
                    if (script.previous == null) {
                        output.collect(entry.get(2).asLong());
                    } else {
                        output.collect(entry.get(2).asLong(), script.previous);
                    }
                    break;
                case "w":
                    output.emitWatermark(new Watermark(entry.get(2).asLong()));
                    break;
                case "i":
                    output.markIdle();
                    break;
                case "begin":
                    outputs.put(split, main.createOutputForSplit(split));
                    break;
                case "sleep":
                    script.wakeNanos = ManualTime.nowNanos() + entry.get(2).asLong();
                    break;
                default:
                    main.releaseOutputForSplit(split);
                    outputs.remove(split);
            }
        }

        private void waitUntil(long due) {
            CompletableFuture<Void> future = new CompletableFuture<>();
            available = future;
            ManualTime.wakeAt(due, script.node, script.subtask, () -> future.complete(null));
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            return available;
        }

        @Override
        public void pauseOrResumeSplits(Collection<String> toPause, Collection<String> toResume) {
            paused.addAll(toPause);
            paused.removeAll(toResume);
            available.complete(null);
        }

        @Override
        public List<Position> snapshotState(long checkpoint) {
            failures.inSnapshot(checkpoint);
            List<Position> positions = new ArrayList<>();
            positions.add(new Position(script.position()));
            return positions;
        }

        @Override
        public void notifyCheckpointComplete(long checkpoint) {
            Seen.notified(script.node);
            failures.inNotification(checkpoint);
        }

        @Override
        public void notifyNoMoreSplits() {}

        @Override
        public void close() {}
    }

    /** The enumerator of a source whose readers know what they read. */
    private static final class NoAssignment implements SplitEnumerator<Position, Integer> {
        @Override
        public void start() {}

        @Override
        public void handleSplitRequest(int subtask, String host) {}

        @Override
        public void addSplitsBack(List<Position> splits, int subtask) {}

        @Override
        public void addReader(int subtask) {}

        @Override
        public Integer snapshotState(long checkpoint) {
            return 0;
        }

        @Override
        public void close() {}
    }

    /** A position in a script, as state. */
    static final class Position implements SourceSplit {
        final String text;

        Position(String text) {
            this.text = text;
        }

        @Override
        public String splitId() {
            return "position of subtask " + text.substring(0, text.indexOf(','));
        }

        @Override
        public String toString() {
            return text;
        }
    }

    /** Writes values as their text. */
    abstract static class Texts<T> implements SimpleVersionedSerializer<T> {
        abstract T of(String text);

        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(T value) {
            return value.toString().getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public T deserialize(int version, byte[] bytes) {
            return of(new String(bytes, StandardCharsets.UTF_8));
        }
    }
}
