package flowsim.differential;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.api.common.operators.MailboxExecutor.MailOptions;
import org.apache.flink.streaming.runtime.tasks.StreamTaskActionExecutor;
import org.apache.flink.streaming.runtime.tasks.mailbox.MailboxDefaultAction;
import org.apache.flink.streaming.runtime.tasks.mailbox.MailboxProcessor;
import org.apache.flink.streaming.runtime.tasks.mailbox.PeriodTimer;
import org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailbox;

/**
 * A real processor whose mails and default actions are scripts of the test, and whose neighbours act when it waits.
 *
 * <p>Everything that has a parameter {@code inside} is done by the mailbox thread, or by another one when it is false.
 */
public final class Processors {
    /** What a mail or the default action does; it may call this object again. */
    public interface Script {
        void run(String name) throws Exception;
    }

    private static final class Timer implements PeriodTimer {
        private boolean running;

        @Override
        public void markStart() {
            running = true;
        }

        @Override
        public void markEnd() {
            running = false;
        }
    }

    private final Script script;
    private final ArrivingMailbox mailbox = new ArrivingMailbox(this::arrive);
    private final MailboxProcessor processor =
            new MailboxProcessor(this::defaultAction, mailbox, StreamTaskActionExecutor.IMMEDIATE);
    private final List<MailboxDefaultAction.Suspension> suspensions = new ArrayList<>();
    private final List<Timer> timers = new ArrayList<>();
    private final List<Future<?>> futures = new ArrayList<>();
    private final Deque<String[]> arrivals = new ArrayDeque<>();
    private MailboxDefaultAction.Controller controller;
    private int defaults;
    private Throwable thrown;

    public Processors(Script script) {
        this.script = script;
    }

    private void arrive() {
        String[] burst = arrivals.poll();
        if (burst == null) {
            processor.suspend();
        } else {
            for (String mail : burst) {
                String[] words = mail.split(" ");
                put(Integer.parseInt(words[1]), words[0], words[2]);
            }
        }
    }

    /** Mails that are put together by a neighbour the next time the mailbox thread waits: "options priority name,...". */
    public void arrival(String mails) {
        arrivals.add(mails.split(","));
    }

    private void defaultAction(MailboxDefaultAction.Controller current) throws Exception {
        controller = current;
        play("default " + defaults++);
    }

    /** A script that was left by an exception of ours leaves with that very exception. */
    private void play(String name) throws Exception {
        try {
            script.run(name);
        } catch (Exception e) {
            if (thrown != null) {
                sneak(thrown);
            }
            throw e;
        }
    }

    private <T> T noting(Callable<T> call) throws Exception {
        try {
            return call.call();
        } catch (Throwable e) {
            thrown = e;
            sneak(e);
            return null;
        }
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> void sneak(Throwable e) throws E {
        throw (E) e;
    }

    private void put(int priority, String options, String name) {
        try {
            MailOptions chosen = (MailOptions) MailOptions.class.getMethod(options).invoke(null);
            processor.getMailboxExecutor(priority).execute(chosen, () -> play(name), name, new Object[0]);
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(e);
        }
    }

    public void execute(int priority, String options, String name, boolean inside) throws Exception {
        noting(
                () -> {
                    Threads.act(inside, () -> put(priority, options, name));
                    return null;
                });
    }

    public void submit(int priority, String name) throws Exception {
        noting(() -> futures.add(processor.getMailboxExecutor(priority).submit(() -> play(name), name)));
    }

    /** Whether nobody can end a wait any more: no mail fits, and the mailbox takes none in. */
    public boolean wouldWaitForEver(int priority) {
        return mailbox.getState() == TaskMailbox.State.QUIESCED && !mailbox.hasMailOf(priority);
    }

    public void yieldTo(int priority) throws Exception {
        noting(
                () -> {
                    processor.getMailboxExecutor(priority).yield();
                    return null;
                });
    }

    public boolean tryYield(int priority) throws Exception {
        return noting(() -> processor.getMailboxExecutor(priority).tryYield());
    }

    public boolean suspendDefaultAction(boolean timed) throws Exception {
        if (controller == null) {
            return false;
        }
        noting(
                () -> {
                    Timer timer = timed ? new Timer() : null;
                    suspensions.add(controller.suspendDefaultAction(timer));
                    timers.add(timer);
                    if (timed) {
                        timer.markStart();
                    }
                    return null;
                });
        return true;
    }

    public boolean resume(int which, boolean inside) throws Exception {
        if (which >= suspensions.size()) {
            return false;
        }
        Threads.act(inside, suspensions.get(which)::resume);
        return true;
    }

    public void suspend(boolean inside) throws Exception {
        Threads.act(inside, processor::suspend);
    }

    public void allActionsCompleted(boolean inside) throws Exception {
        Threads.act(inside, processor::allActionsCompleted);
    }

    public void reportThrowable(boolean inside) throws Exception {
        noting(
                () -> {
                    Threads.act(inside, () -> processor.reportThrowable(new IOException("reported")));
                    return null;
                });
    }

    public void raise(boolean checked) throws Exception {
        noting(
                () -> {
                    throw checked ? new IOException("asked") : new IllegalArgumentException("asked");
                });
    }

    private <T> T command(Callable<T> call) throws Exception {
        thrown = null;
        return call.call();
    }

    public void loop() throws Exception {
        command(
                () -> {
                    processor.runMailboxLoop();
                    return null;
                });
    }

    public boolean step() throws Exception {
        return command(processor::runMailboxStep);
    }

    public boolean singleLoop() throws Exception {
        return command(processor::runSingleMailboxLoop);
    }

    public void drain() throws Exception {
        command(
                () -> {
                    processor.drain();
                    return null;
                });
    }

    public void prepareClose() {
        processor.prepareClose();
    }

    public void close() {
        processor.close();
    }

    /** Whether the timer of the current suspension runs. */
    public boolean timerRuns() throws ReflectiveOperationException {
        Field field = MailboxProcessor.class.getDeclaredField("suspendedDefaultAction");
        field.setAccessible(true);
        Object current = field.get(processor);
        int which = current == null ? -1 : suspensions.indexOf(current);
        return which >= 0 && timers.get(which) != null && timers.get(which).running;
    }

    /** All that can be seen of it. */
    public String seen() throws ReflectiveOperationException {
        StringBuilder done = new StringBuilder();
        for (Future<?> future : futures) {
            done.append(future.isCancelled() ? 'c' : future.isDone() ? 'd' : 'p');
        }
        MailboxExecutor executor = processor.getMailboxExecutor(1);
        return String.join(
                " ",
                mailbox.getState().name(),
                String.valueOf(mailbox.size()),
                String.valueOf(processor.hasMail()),
                String.valueOf(processor.isDefaultActionAvailable()),
                String.valueOf(processor.isMailboxLoopRunning()),
                String.valueOf(processor.getMailboxMetricsControl().getMailCounter().getCount()),
                String.valueOf(((org.apache.flink.streaming.runtime.tasks.mailbox.MailboxExecutorImpl) executor).isIdle()),
                String.valueOf(executor.shouldInterrupt()),
                String.valueOf(timerRuns()),
                done.toString());
    }
}
