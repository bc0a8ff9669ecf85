package org.apache.flink.streaming.runtime.operators.sink.committables;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.StringJoiner;
import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.metrics.groups.SinkCommitterMetricGroup;
import org.apache.flink.runtime.metrics.groups.InternalSinkCommitterMetricGroup;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.streaming.api.connector.sink2.CommittableSummary;
import org.apache.flink.streaming.api.connector.sink2.CommittableWithLineage;

/** A real CommittableCollector under commands; a committable says after its colon what the committer does with it. */
public final class Committables implements Committer<String> {
    private static final SinkCommitterMetricGroup METRICS =
            InternalSinkCommitterMetricGroup.wrap(UnregisteredMetricGroups.createUnregisteredOperatorMetricGroup());

    private static final SimpleVersionedSerializer<String> STRINGS =
            new SimpleVersionedSerializer<String>() {
                @Override
                public int getVersion() {
                    return 1;
                }

                @Override
                public byte[] serialize(String text) {
                    return text.getBytes(StandardCharsets.UTF_8);
                }

                @Override
                public String deserialize(int version, byte[] bytes) {
                    return new String(bytes, StandardCharsets.UTF_8);
                }
            };

    private final CommittableCollectorSerializer<String> serializer =
            new CommittableCollectorSerializer<>(STRINGS, 0, 1, METRICS);
    private final CommittableCollector<String> collector = CommittableCollector.of(METRICS);
    private final List<String> events = new ArrayList<>();
    private byte[] snapshot;

    public static String run(String script) {
        Committables probe = new Committables();
        StringJoiner answers = new StringJoiner("\n");
        for (String line : script.split("\n")) {
            answers.add(probe.answer(line.split(" ")));
        }
        return answers.toString();
    }

    @Override
    public void commit(Collection<CommitRequest<String>> requests) {
        StringJoiner batch = new StringJoiner(" ", "commit ", "");
        for (CommitRequest<String> request : requests) {
            String committable = request.getCommittable();
            batch.add(committable);
            String behaviour = committable.substring(committable.indexOf(':') + 1);
            switch (behaviour) {
                case "already":
                    request.signalAlreadyCommitted();
                    break;
                case "failed":
                    request.signalFailedWithKnownReason(new RuntimeException("known"));
                    break;
                case "unknown":
                    events.add(batch.toString());
                    request.signalFailedWithUnknownReason(new RuntimeException("unknown"));
                    break;
                case "forever":
                    request.retryLater();
                    break;
                case "update":
                    request.updateAndRetryLater(committable.replace(":update", "':ok"));
                    break;
                case "retry1":
                case "retry2":
                    if (request.getNumberOfRetries() < behaviour.charAt(5) - '0') {
                        request.retryLater();
                    }
                    break;
                default:
            }
        }
        events.add(batch.toString());
    }

    @Override
    public void close() {}

    private String answer(String[] words) {
        events.clear();
        try {
            execute(words);
        } catch (Exception e) {
            String message = String.valueOf(e.getMessage());
            boolean commit = e instanceof IOException || message.startsWith("Failed to commit");
            events.add(commit ? "!" + message.replaceAll(": \\[.*", "") : "!illegal");
        }
        return String.join(";", events) + "|" + state() + "|" + collector.isFinished();
    }

    private void execute(String[] words) throws Exception {
        switch (words[0]) {
            case "summary":
                collector.addMessage(
                        new CommittableSummary<>(number(words[1]), number(words[2]), id(words[3]), number(words[4]), 0));
                break;
            case "committable":
                collector.addMessage(new CommittableWithLineage<>(words[3], id(words[2]), number(words[1])));
                break;
            case "snapshot":
                snapshot = serializer.serialize(collector.copy());
                break;
            case "restore_merge":
                if (snapshot != null) {
                    collector.merge(serializer.deserialize(2, snapshot));
                }
                break;
            case "complete":
                for (CheckpointCommittableManager<String> manager :
                        new ArrayList<>(collector.getCheckpointCommittablesUpTo(id(words[1])))) {
                    manager.commit(this, number(words[2]));
                    collector.remove(manager);
                }
                break;
            default:
                throw new UnsupportedOperationException(words[0]);
        }
    }

    private String state() {
        StringJoiner state = new StringJoiner(";");
        for (CheckpointCommittableManagerImpl<String> manager : collector.getCheckpointCommittables()) {
            state.add("#" + manager.getCheckpointId() + " " + manager.hasGloballyReceivedAll());
            for (SubtaskCommittableManager<String> subtask : manager.getSubtaskCommittableManagers()) {
                state.add(subtask.getSubtaskId() + " " + subtask.hasReceivedAll());
                for (CommitRequestImpl<String> request : subtask.getRequests()) {
                    state.add(request.getCommittable() + " " + request.getState() + " " + request.getNumberOfRetries());
                }
            }
        }
        return state.toString();
    }

    private static int number(String word) {
        return Integer.parseInt(word);
    }

    private static long id(String word) {
        return Long.parseLong(word);
    }
}
