(** SPEC 10.2, what is read backwards: a right schedule in which one rank ends with what many contribute to a
    chunk has, for each of them, transfers one after the other that lead from it to that rank. Backwards in
    time, over links turned round, these bring the chunk from that rank to all of them, and keep links and
    ports busy for as long. So the formula of the problem read backwards follows, and a refutation of it
    bounds all right schedules: for reduce and reducescatter. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Lrat.
From Oraccl Require Import Cut Round Check Timed Schedule Passing Bounds Replay InRounds RoundTime RoundRules Clauses Epochs Horizon.
Import ListNotations.
Open Scope Z_scope.

Lemma sum_back {A} (f : A -> Z) l : sum f (rev l) = sum f l.
Proof. induction l as [|a l IH]; [reflexivity|]. simpl rev. rewrite sum_app, IH. unfold sum. simpl. lia. Qed.
Lemma sum_same {A B} (f : A -> Z) (g : B -> Z) (F : A -> B) l : (forall x, g (F x) = f x) -> sum g (map F l) = sum f l.
Proof. intros E. unfold sum. induction l as [|a l IH]; simpl; [reflexivity|]. rewrite E, IH. reflexivity. Qed.
Lemma back_concat {A} (hs : list (list A)) : rev (concat hs) = concat (rev (map (@rev A) hs)).
Proof.
  induction hs as [|h hs IH]; [reflexivity|]. simpl. rewrite rev_app_distr, IH, concat_app. simpl. rewrite app_nil_r. reflexivity.
Qed.
Lemma how_many_back {A} (f : A -> bool) l : Clauses.how_many f (rev l) = Clauses.how_many f l.
Proof. induction l as [|a l IH]; [reflexivity|]. simpl rev. rewrite how_many_app, IH, !how_many_cons. change (Clauses.how_many f []) with O. lia. Qed.
Lemma nodup_less {A B} (f : A -> B) (g g' : A -> bool) l : (forall x, In x l -> g' x = true -> g x = true) ->
  NoDup (map f (filter g l)) -> NoDup (map f (filter g' l)).
Proof.
  induction l as [|a l IH]; simpl; intros Hg Hn; [constructor|]. specialize (IH (fun x Hx => Hg x (or_intror Hx))).
  pose proof (Hg a (or_introl eq_refl)) as Ha. destruct (g' a).
  - rewrite (Ha eq_refl) in Hn. simpl in Hn. apply NoDup_cons_iff in Hn. destruct Hn as [N1 N2]. simpl. constructor; [|auto].
    intros Hin. apply N1. apply in_map_iff in Hin. destruct Hin as [x [<- Hx]]. apply filter_In in Hx. apply in_map, filter_In.
    split; [apply Hx|]. apply Hg; [right|]; apply Hx.
  - apply IH. destruct (g a); [|exact Hn]. simpl in Hn. apply NoDup_cons_iff in Hn. apply Hn.
Qed.

(** ** Hops *)

Section Hops.
Variable j : job.
Notation at_link := (at_link j).

Lemma leads_over a b : forall u w v, leads j u a w -> leads j w b v -> leads j u (a ++ b) v.
Proof. induction a as [|i a IH]; simpl; intros u w v Ha Hb; [subst; exact Hb|]. destruct Ha as [A [B C]]. eauto. Qed.
Lemma leads_apart a b : forall u v, leads j u (a ++ b) v -> exists w, leads j u a w /\ leads j w b v.
Proof.
  induction a as [|i a IH]; simpl; intros u v Hl; [eauto|]. destruct Hl as [A [B C]]. destruct (IH _ _ C) as [w [D E]]. exists w. auto.
Qed.
Lemma sources_of r : forall u v, leads j u r v -> map (fun i => Cut.src (at_link i)) r ++ [v] = u :: map (fun i => Cut.dst (at_link i)) r.
Proof. induction r as [|i r IH]; simpl; intros u v Hl; [congruence|]. destruct Hl as [_ [<- Hl]]. rewrite (IH _ _ Hl). reflexivity. Qed.

Definition whole_hop (h : list nat) : Prop :=
  exists a i, h = a ++ [i] /\ is_rank j (Cut.dst (at_link i)) = true /\ forall x, In x a -> is_rank j (Cut.dst (at_link x)) = false.
Lemma hops_whole h r : whole_hop h -> hops j (h ++ r) = h :: hops j r.
Proof.
  intros [a [i [-> [Hi Ha]]]]. induction a as [|x a IH]; simpl; [rewrite Hi; reflexivity|].
  rewrite (Ha x (or_introl eq_refl)), IH by (intros; apply Ha; right; auto). reflexivity.
Qed.
Lemma hops_concat hs : (forall h, In h hs -> whole_hop h) -> hops j (concat hs) = hs.
Proof.
  induction hs as [|h hs IH]; simpl; intros Hw; [reflexivity|]. rewrite hops_whole by auto. rewrite IH by auto. reflexivity.
Qed.
Lemma whole_hops r : forall u v, leads j u r v -> is_rank j v = true -> forall h, In h (hops j r) -> whole_hop h.
Proof.
  induction r as [|i r IH]; intros u v Hl Hv h Hh; [destruct Hh|]. destruct Hl as [_ [_ Hl]]. specialize (IH _ _ Hl Hv). cbn [hops] in Hh.
  destruct (is_rank j (Cut.dst (at_link i))) eqn:E.
  - destruct Hh as [<-|Hh]; [|auto]. exists [], i. split; [reflexivity|]. split; [exact E|intros x []].
  - destruct (hops j r) as [|h0 hs] eqn:Er.
    + assert (r = []) by (rewrite <- (concat_hops j r), Er; reflexivity). subst r. simpl in Hl. congruence.
    + destruct Hh as [<-|Hh]; [|apply IH; right; exact Hh]. destruct (IH h0 (or_introl eq_refl)) as [a [x [-> [Hx Ha]]]].
      exists (i :: a), x. split; [reflexivity|]. split; [exact Hx|]. intros y [<-|Hy]; auto.
Qed.
Lemma along_app slow a b : forall from, along j slow from (a ++ b) = along j slow from a ++ along j slow (from + latencies j a) b.
Proof.
  induction a as [|i a IH]; intros from; simpl; [f_equal; unfold latencies; simpl; lia|]. rewrite IH. do 3 f_equal. unfold latencies. simpl. lia.
Qed.
Lemma busy_app b a c : forall from, busy_hops j b from (a ++ c) = busy_hops j b from a ++ busy_hops j b (from + lasting j b a) c.
Proof.
  induction a as [|h a IH]; intros from; simpl; [f_equal; unfold lasting; simpl; lia|]. rewrite IH, <- app_assoc. do 3 f_equal. unfold lasting. simpl. lia.
Qed.
Lemma slowest_over b a c : slowest j b (a ++ c) = Z.max (slowest j b a) (slowest j b c).
Proof. induction a as [|i a IH]; simpl; [pose proof (slowest_0 j b c); lia|]. rewrite IH. lia. Qed.
End Hops.

(** ** The problem read backwards *)

Definition turn (l : link) : link := Link (Cut.dst l) (Cut.src l) (latency l) (bandwidth l).

Section Job.
Variable j : job.
Notation at_link := (at_link j).
Notation many := (length (links j)).

Definition dest_of (k : nat) : nat :=
  match find (fun e => (snd (fst e) =? k)%nat) (post j) with Some e => fst (fst e) | None => O end.
(** Those whose contribution the chunk's destination must end with, and nobody else can give. *)
Definition needed_of (k : nat) : list nat :=
  filter (fun v => negb (v =? dest_of k)%nat && existsb (fun c => ends_with j c (dest_of k) k && starts_only j c [v] k) (seq 0 (nodes j))) (seq 0 (nodes j)).
Definition turned : job :=
  Job (nodes j) (map turn (links j)) (ports j) (model j) (release j) (sizes j) (idempotent j)
    (map (fun k => ((dest_of k, k), [1%nat])) (seq 0 (length (sizes j))))
    (flat_map (fun k => map (fun v => ((v, k), [1%nat])) (needed_of k)) (seq 0 (length (sizes j)))).

Lemma turned_link i : Schedule.at_link turned i = turn (at_link i).
Proof. unfold Schedule.at_link, the. cbn [links turned]. rewrite <- (map_nth turn). reflexivity. Qed.
Lemma turned_positive : positive j -> positive turned.
Proof.
  intros [A B]. split; [|exact B]. intros l Hl. cbn [links turned] in Hl. apply in_map_iff in Hl. destruct Hl as [l' [<- Hl]]. apply (A l' Hl).
Qed.
Lemma turned_leads r : forall u v, leads j u r v -> leads turned v (rev r) u.
Proof.
  induction r as [|i r IH]; simpl; intros u v Hl; [congruence|]. destruct Hl as [A [B C]]. apply leads_over with (Cut.dst (at_link i)); [apply IH, C|].
  cbn [leads links turned]. rewrite map_length, turned_link. cbn [turn Cut.src Cut.dst]. auto.
Qed.
Lemma turned_visited u r v : leads j u r v -> visited turned v (rev r) = rev (visited j u r).
Proof.
  intros Hl. unfold visited. rewrite <- (sources_of j r u v Hl), rev_app_distr. simpl. f_equal. rewrite map_rev. f_equal.
  apply map_ext. intros i. rewrite turned_link. reflexivity.
Qed.
Lemma turned_whole hs : forall u v, leads j u (concat hs) v -> is_rank j u = true -> (forall h, In h hs -> whole_hop j h) ->
  forall h, In h hs -> whole_hop turned (rev h).
Proof.
  induction hs as [|h0 hs IH]; intros u v Hl Hu Hw h Hh; [destruct Hh|]. simpl in Hl. destruct (leads_apart j _ _ _ _ Hl) as [w [La Lb]].
  destruct (Hw h0 (or_introl eq_refl)) as [a [i [E [Hi Ha]]]]. pose proof (sources_of j _ _ _ La) as Es.
  rewrite E in Es at 2. rewrite map_app in Es. cbn [map] in Es. rewrite app_comm_cons in Es. apply app_inj_tail in Es. destruct Es as [Es Ew].
  destruct Hh as [<-|Hh]; [|apply (IH w v Lb); auto; [rewrite Ew; exact Hi|intros; apply Hw; right; auto]].
  destruct h0 as [|x b]; [destruct a; discriminate|]. simpl in Es. injection Es as Ex Eb. exists (rev b), x. split; [reflexivity|].
  rewrite turned_link. cbn [turn Cut.dst]. split; [rewrite Ex; exact Hu|]. intros y Hy. apply in_rev in Hy. rewrite turned_link. cbn [turn Cut.dst].
  apply (in_map (fun i => Cut.src (at_link i))) in Hy. rewrite Eb in Hy. apply in_map_iff in Hy. destruct Hy as [z [<- Hz]]. apply Ha, Hz.
Qed.
Lemma turned_hops u r v : leads j u r v -> is_rank j u = true -> is_rank j v = true -> hops turned (rev r) = rev (map (@rev nat) (hops j r)).
Proof.
  intros Hl Hu Hv. rewrite <- (concat_hops j r) at 1. rewrite back_concat. apply hops_concat. intros h Hh. apply in_rev, in_map_iff in Hh.
  destruct Hh as [h' [<- Hh]]. apply (turned_whole (hops j r) u v); auto; [rewrite concat_hops; exact Hl|apply (whole_hops j r u v Hl Hv)].
Qed.
Lemma turned_latencies h : latencies turned (rev h) = latencies j h.
Proof.
  unfold latencies. rewrite sum_back. rewrite <- (map_id h) at 1. apply (sum_same (fun i => latency (at_link i))). intros i. rewrite turned_link. reflexivity.
Qed.
Lemma turned_slowest b h : slowest turned b (rev h) = slowest j b h.
Proof.
  induction h as [|i h IH]; [reflexivity|]. simpl rev. rewrite slowest_over, IH. simpl. rewrite turned_link. unfold beta. cbn [turn bandwidth].
  pose proof (slowest_0 j b h). lia.
Qed.
Lemma turned_lasting b hs : lasting turned b (rev (map (@rev nat) hs)) = lasting j b hs.
Proof. unfold lasting. rewrite sum_back. apply sum_same. intros h. rewrite turned_latencies, turned_slowest. reflexivity. Qed.

(** ** Bundles *)

Lemma turned_ports_of i : ports_of turned i = ports_of j i.
Proof. reflexivity. Qed.
Lemma turned_alike a b : alike_links turned a b = alike_links j a b.
Proof.
  apply eq_true_iff_eq. rewrite !alike_links_spec, !turned_link, !turned_ports_of. unfold turn.
  destruct (at_link a), (at_link b). simpl. intuition congruence.
Qed.
Lemma turned_bundle i : bundle turned i = bundle j i.
Proof. unfold bundle. cbn [links turned]. rewrite map_length, (find_ext _ (alike_links j i)); [reflexivity|]. intros x. apply turned_alike. Qed.
Lemma turned_capacity c c' b : capacity (of_bundle turned c b) = capacity (of_bundle j c' b).
Proof.
  cbn [capacity of_bundle at_places links turned]. rewrite map_length. unfold Clauses.how_many. f_equal. apply filter_ext. intros i. rewrite turned_bundle. reflexivity.
Qed.

(** ** A schedule read backwards *)

(** Backwards a link is busy sooner by its latency, pipelined. *)
Definition shift (i : nat) : Z := match model j with Blocking => 0 | Pipelined => latency (at_link i) end.
Definition turn_sent (M : Z) (t : sent) : sent :=
  Sent (Timed (Transfer (what (tr (data t))) (dst (tr (data t))) (src (tr (data t))) Copy) (M - ends (data t)) (M - begins (data t))) (rev (route t)).

Section Busy.
Variables p p' : use -> bool.
Variable M : Z.
Hypothesis mirror : forall i x y, (i < many)%nat -> p' (i, Span (M - x - y - shift i) y) = p (i, Span x y).
Lemma along_back slow h : (forall i, In i h -> (i < many)%nat) -> forall from,
  Clauses.how_many p' (along turned slow (M - from - latencies j h - slow) (rev h)) = Clauses.how_many p (along j slow from h).
Proof.
  induction h as [|i h IH]; intros Hl from; [reflexivity|]. simpl rev. rewrite along_app, how_many_app, turned_latencies. cbn [along].
  rewrite !how_many_cons. change (Clauses.how_many p' []) with O. specialize (IH (fun x Hx => Hl x (or_intror Hx)) (from + latency (at_link i))).
  unfold latencies in *. cbn [sum fold_right] in *. fold (sum (fun i => latency (at_link i)) h) in *.
  replace (M - from - (latency (at_link i) + sum (fun i => latency (at_link i)) h) - slow)
    with (M - (from + latency (at_link i)) - sum (fun i => latency (at_link i)) h - slow) by lia.
  rewrite IH, turned_link. cbn [turn latency model turned].
  specialize (mirror i from (slow + match model j with Blocking => latency (at_link i) | Pipelined => 0 end) (Hl i (or_introl eq_refl))).
  replace (M - (from + latency (at_link i)) - sum (fun i => latency (at_link i)) h - slow + sum (fun i => latency (at_link i)) h)
    with (M - from - (slow + match model j with Blocking => latency (at_link i) | Pipelined => 0 end) - shift i) by (unfold shift; destruct (model j); lia).
  rewrite mirror. lia.
Qed.
Lemma busy_back b hs : (forall i, In i (concat hs) -> (i < many)%nat) -> forall from,
  Clauses.how_many p' (busy_hops turned b (M - from - lasting j b hs) (rev (map (@rev nat) hs))) = Clauses.how_many p (busy_hops j b from hs).
Proof.
  induction hs as [|h hs IH]; intros Hl from; [reflexivity|]. simpl map. simpl rev. rewrite busy_app, how_many_app, turned_lasting. cbn [busy_hops].
  rewrite app_nil_r, how_many_app, turned_slowest. simpl in Hl.
  rewrite <- (along_back (slowest j b h) h) by (intros i Hi; apply Hl, in_or_app; auto).
  rewrite <- (IH (fun i Hi => Hl i (in_or_app _ _ _ (or_intror Hi))) (from + (latencies j h + slowest j b h))).
  unfold lasting. cbn [sum fold_right]. fold (sum (fun h => latencies j h + slowest j b h) hs).
  rewrite Nat.add_comm. f_equal; f_equal; [f_equal|f_equal]; lia.
Qed.
End Busy.

Lemma shift_bundle i : (i < many)%nat -> shift (bundle j i) = shift i.
Proof. intros Hi. unfold shift. rewrite bundle_link by exact Hi. reflexivity. Qed.
Lemma mirrored member d M x : (forall i, (i < many)%nat -> member (bundle j i) = true -> shift i = d) -> forall i a y, (i < many)%nat ->
  member_at turned member x (i, Span (M - a - y - shift i) y) = member_at j member (M - 1 - d - x) (i, Span a y).
Proof.
  intros Hd i a y Hi. unfold member_at. cbn [fst]. rewrite turned_bundle. specialize (Hd i Hi). destruct (member (bundle j i)); [|reflexivity].
  rewrite (Hd eq_refl). cbn [andb]. unfold at_instant. cbn [snd first long]. apply eq_true_iff_eq. rewrite !andb_true_iff, !Z.leb_le, !Z.ltb_lt. lia.
Qed.

(** Of ports whose links differ in latency nothing is known, pipelined. *)
Definition level_ports : bool :=
  match model j with
  | Blocking => true
  | Pipelined => forallb (fun p => forallb (fun i => latency (at_link i) =? latency (at_link (hd O (fst p)))) (fst p)) (ports j)
  end.
Lemma level_shift p : level_ports = true -> In p (ports j) -> forall i, (i < many)%nat -> existsb (Nat.eqb (bundle j i)) (fst p) = true ->
  shift i = shift (hd O (fst p)).
Proof.
  intros L Hp i Hi E. rewrite <- shift_bundle by exact Hi. apply existsb_exists in E. destruct E as [x [Hx E]]. apply Nat.eqb_eq in E. rewrite E.
  unfold level_ports, shift in *. destruct (model j); [reflexivity|]. rewrite forallb_forall in L. specialize (L p Hp). rewrite forallb_forall in L.
  apply Z.eqb_eq, L, Hx.
Qed.
Definition nobody_late : bool := forallb (Z.eqb 0) (release j).
Lemma nobody_waits v : nobody_late = true -> arrival j v = 0.
Proof.
  unfold nobody_late, arrival. rewrite forallb_forall. intros N. destruct (Nat.lt_ge_cases v (length (release j))) as [L|L].
  - symmetry. apply Z.eqb_eq, N, nth_In, L.
  - apply nth_overflow, L.
Qed.

(** ** What leads on to the destination of its chunk *)

Section Schedule.
Variable sch : list sent.
Notation M := (makespan sch).
Hypothesis spans_ok : forall t, In t sch -> 0 <= begins (data t) < ends (data t).

Inductive leads_on : sent -> Prop :=
| leads_there t : In t sch -> dst (tr (data t)) = dest_of (what (tr (data t))) -> leads_on t
| leads_further t u : In t sch -> In u sch -> what (tr (data u)) = what (tr (data t)) -> src (tr (data u)) = dst (tr (data t)) ->
    ends (data t) <= begins (data u) -> leads_on u -> leads_on t.
Fixpoint on_way (n : nat) (t : sent) : bool :=
  match n with
  | O => false
  | S n => (dst (tr (data t)) =? dest_of (what (tr (data t))))%nat ||
      existsb (fun u => (what (tr (data u)) =? what (tr (data t)))%nat && (src (tr (data u)) =? dst (tr (data t)))%nat &&
        (ends (data t) <=? begins (data u)) && on_way n u) sch
  end.
Lemma on_way_more n : forall m t, (n <= m)%nat -> on_way n t = true -> on_way m t = true.
Proof.
  induction n as [|n IH]; intros m t L E; [discriminate|]. destruct m as [|m]; [lia|]. cbn [on_way] in *. apply orb_true_iff in E. apply orb_true_iff.
  destruct E as [E|E]; [auto|right]. apply existsb_exists in E. destruct E as [u [Hu E]]. apply existsb_exists. exists u. split; [exact Hu|].
  rewrite !andb_true_iff in *. destruct E as [E1 E2]. split; [exact E1|]. apply (IH m u); [lia|exact E2].
Qed.
Lemma on_way_leads n : forall t, In t sch -> on_way n t = true -> leads_on t.
Proof.
  induction n as [|n IH]; intros t Ht E; [discriminate|]. cbn [on_way] in E. apply orb_true_iff in E. destruct E as [E|E].
  - apply Nat.eqb_eq in E. apply leads_there; auto.
  - apply existsb_exists in E. destruct E as [u [Hu E]]. rewrite !andb_true_iff, !Nat.eqb_eq, Z.leb_le in E. destruct E as [[[E1 E2] E3] E4].
    apply (leads_further t u); auto.
Qed.
Lemma leads_on_way t : leads_on t -> on_way (S (Z.to_nat (M - ends (data t)))) t = true.
Proof.
  intros L. induction L as [t Ht E|t u Ht Hu E1 E2 E3 L IH]; cbn [on_way]; apply orb_true_iff; [left; apply Nat.eqb_eq, E|right].
  apply existsb_exists. exists u. split; [exact Hu|]. rewrite !andb_true_iff, !Nat.eqb_eq, Z.leb_le. split; [auto|].
  apply (on_way_more (S (Z.to_nat (M - ends (data u))))); [|exact IH]. pose proof (spans_ok u Hu). pose proof (ends_makespan sch u Hu). lia.
Qed.
Definition of_use (t : sent) : bool := on_way (S (Z.to_nat M)) t.
Lemma of_use_spec t : In t sch -> (of_use t = true <-> leads_on t).
Proof.
  intros Ht. split; [apply on_way_leads, Ht|]. intros L. apply (on_way_more (S (Z.to_nat (M - ends (data t))))); [|apply leads_on_way, L].
  pose proof (spans_ok t Ht). lia.
Qed.
Definition backwards : list sent := map (turn_sent M) (filter of_use sch).
Lemma in_backwards t' : In t' backwards <-> exists t, In t sch /\ leads_on t /\ t' = turn_sent M t.
Proof.
  unfold backwards. rewrite in_map_iff. split.
  - intros [t [<- Ht]]. apply filter_In in Ht. destruct Ht as [Ht U]. exists t. split; [exact Ht|]. split; [apply of_use_spec; auto|reflexivity].
  - intros [t [Ht [U ->]]]. exists t. split; [reflexivity|]. apply filter_In. split; [exact Ht|]. apply of_use_spec; auto.
Qed.

Lemma chain c v k u x : holds j (map data sch) c u k x -> starts_only j c [v] k = true ->
  (forall t, In t sch -> dst (tr (data t)) = u -> what (tr (data t)) = k -> ends (data t) <= x -> leads_on t) ->
  u = v \/ exists t, In t sch /\ src (tr (data t)) = v /\ what (tr (data t)) = k /\ leads_on t.
Proof.
  intros Hh So. induction Hh as [u k x w Hl Hc H0|t0 x Ht Hh IH Le]; intros Hon.
  - left. apply lookup_In in Hl. unfold starts_only in So. rewrite forallb_forall in So. specialize (So _ Hl). cbn [fst snd] in So.
    rewrite Nat.eqb_refl in So. unfold containsb in So. rewrite (proj2 (Nat.ltb_lt 0 _) Hc) in So. simpl in So. rewrite orb_false_r in So. apply Nat.eqb_eq, So.
  - apply in_map_iff in Ht. destruct Ht as [t [<- Ht]]. pose proof (Hon t Ht eq_refl eq_refl Le) as L. right.
    destruct (IH So) as [E|E]; [|exists t; auto|exact E].
    intros t' Ht' E1 E2 E3. apply (leads_further t' t); auto.
Qed.
Lemma turned_holder k : (k < length (sizes j))%nat -> holder_of turned k = dest_of k.
Proof.
  intros Hk. unfold holder_of. cbn [pre turned]. destruct (find _ _) as [e|] eqn:E.
  - apply find_some in E. destruct E as [Hin E]. apply in_map_iff in Hin. destruct Hin as [k' [<- _]]. cbn [fst snd] in *. apply Nat.eqb_eq in E. congruence.
  - pose proof (find_none _ _ E ((dest_of k, k), [1%nat])) as N. cbn [fst snd] in N. rewrite Nat.eqb_refl in N.
    discriminate N. apply (in_map (fun k => ((dest_of k, k), [1%nat]))), in_seq. lia.
Qed.
Lemma turned_wanted k v : In v (wanted_by turned k) -> In v (needed_of k).
Proof.
  intros Hv. apply filter_In in Hv. destruct Hv as [_ Hv]. apply existsb_exists in Hv. destruct Hv as [e [Hin E]].
  apply andb_true_iff in E. rewrite !Nat.eqb_eq in E. destruct E as [<- <-]. cbn [post turned] in Hin. apply in_flat_map in Hin.
  destruct Hin as [k [_ Hin]]. apply in_map_iff in Hin. destruct Hin as [v [<- Hv]]. exact Hv.
Qed.
Hypothesis exec : executes j sch.
Hypothesis chunks_ok : forall t, In t sch -> (what (tr (data t)) < length (sizes j))%nat.
Lemma goal_holds c v k : ends_with j c v k = true -> holds j (map data sch) c v k M.
Proof.
  intros E. apply existsb_exists in E. destruct E as [[[v' k'] w] [Hin Hc]]. unfold said_at in Hin. apply filter_In in Hin.
  cbn [fst snd] in *. destruct Hin as [Hin E]. apply andb_true_iff in E. rewrite !Nat.eqb_eq in E. destruct E as [-> ->].
  destruct exec as [H [He Hg]]. destruct (Hg _ _ _ Hin) as [got [Hgot A]]. apply (arrive j _ H He) with (w := got); auto.
  - intros t Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. apply spans_ok, Hs.
  - apply makespan_0.
  - apply (agrees_contains j got w c A). apply Nat.ltb_lt, Hc.
Qed.
Lemma backwards_brings : brings turned backwards.
Proof.
  split.
  - intros t' Ht'. apply in_backwards in Ht'. destruct Ht' as [t [Ht [L ->]]]. cbn [turn_sent data tr src what begins].
    rewrite turned_holder by auto. destruct L as [t _ E|t u _ Hu E1 E2 E3 L]; [left; exact E|right].
    exists (turn_sent M u). split; [apply in_backwards; eauto|]. cbn [turn_sent data tr dst what ends]. split; [exact E2|]. split; [exact E1|lia].
  - intros k v Hv Hn. apply turned_wanted, filter_In in Hv. destruct Hv as [_ Hv]. apply andb_true_iff in Hv. destruct Hv as [Nv Hv].
    rewrite negb_true_iff, Nat.eqb_neq in Nv. apply existsb_exists in Hv. destruct Hv as [c [_ Hv]]. apply andb_true_iff in Hv. destruct Hv as [He Hs].
    destruct (chain c v k (dest_of k) M (goal_holds _ _ _ He) Hs) as [E|[t [Ht [E1 [E2 L]]]]]; [|congruence|].
    + intros t Ht E1 E2 _. apply leads_there; auto. congruence.
    + exists (turn_sent M t). split; [apply in_backwards; eauto|]. auto.
Qed.
Lemma backwards_makespan : makespan backwards <= M.
Proof.
  assert (Hb : forall t, In t backwards -> ends (data t) <= M).
  { intros t Ht. apply in_backwards in Ht. destruct Ht as [u [Hu [_ ->]]]. cbn [turn_sent data ends]. pose proof (spans_ok u Hu). lia. }
  revert Hb. generalize backwards. induction l as [|t l IH]; intros Hb; [apply makespan_0|]. cbn [makespan fold_right].
  specialize (IH (fun x Hx => Hb x (or_intror Hx))). specialize (Hb t (or_introl eq_refl)). unfold makespan in IH at 1. lia.
Qed.
End Schedule.

(** ** Timed *)

Lemma turned_well M t : nobody_late = true -> well j t -> ends (data t) <= M -> well turned (turn_sent M t).
Proof.
  intros Nl [[Hk [Hs [Hd Hne]]] [Hl [Nd [Hb [He Ha]]]]] HM. unfold well. cbn [turn_sent data tr src dst what begins ends route].
  split; [cbn [sizes nodes turned]; auto|]. split; [apply turned_leads, Hl|]. split; [rewrite (turned_visited _ _ _ Hl); apply NoDup_rev, Nd|].
  split; [lia|]. split.
  - unfold duration. rewrite (turned_hops _ _ _ Hl) by (apply Nat.ltb_lt; assumption).
    pose proof (turned_lasting (size j (what (tr (data t)))) (hops j (route t))) as E. unfold lasting, duration in *.
    change (size turned (what (tr (data t)))) with (size j (what (tr (data t)))). rewrite E. lia.
  - intros v _ _. pose proof (nobody_waits v Nl) as A. change (arrival turned v) with (arrival j v). lia.
Qed.
Lemma turned_uses M p p' sch (f : sent -> bool) : (forall i x y, (i < many)%nat -> p' (i, Span (M - x - y - shift i) y) = p (i, Span x y)) ->
  (forall t, In t sch -> well j t) -> (Clauses.how_many p' (uses turned (map (turn_sent M) (filter f sch))) <= Clauses.how_many p (uses j sch))%nat.
Proof.
  intros Mi W. induction sch as [|t sch IH]; [apply le_n|]. specialize (IH (fun x Hx => W x (or_intror Hx))).
  unfold uses in *. cbn [flat_map filter]. rewrite how_many_app. destruct (f t); [|lia]. cbn [map flat_map]. rewrite how_many_app.
  destruct (W t (or_introl eq_refl)) as [[_ [Hs [Hd _]]] [Hl [_ [_ [He _]]]]].
  assert (E : Clauses.how_many p' (uses_of turned (turn_sent M t)) = Clauses.how_many p (uses_of j t)); [|lia].
  unfold uses_of. cbn [turn_sent data tr what route begins]. rewrite (turned_hops _ _ _ Hl) by (apply Nat.ltb_lt; assumption).
  change (size turned (what (tr (data t)))) with (size j (what (tr (data t)))).
  rewrite <- (busy_back p p' M Mi) by (rewrite concat_hops; intros i Hi; eapply leads_in; eauto).
  f_equal. f_equal. rewrite He. unfold duration, lasting. lia.
Qed.

Theorem backwards_epochs tau h proof sch : positive j -> 0 < tau -> nobody_late = true -> level_ports = true ->
  no_schedule turned (Epochs tau) h 0 proof = true -> right j sch -> (h + 1) * tau <= makespan sch.
Proof.
  intros Hp Ht Nl Lp R Hr. destruct (Z.lt_ge_cases (makespan sch) ((h + 1) * tau)) as [L|]; [exfalso|assumption].
  unfold no_schedule in R. rewrite !andb_true_iff in R. destruct R as [[_ R2] R3].
  assert (Sp : forall t, In t sch -> 0 <= begins (data t) < ends (data t)) by (intros t H; apply (proj1 Hr t H)).
  assert (Ex : executes j sch) by (destruct Hr as [_ [_ [_ [H [He Hg]]]]]; exists H; auto).
  refine (no_plan _ _ (properly_spec _ _ _ _ R2) proof R3 _ (timed_plan turned (turned_positive Hp) tau h Ht (backwards sch) _ _ _ _ _)).
  - intros t' Ht'. apply in_backwards in Ht'; auto. destruct Ht' as [t [Hin [_ ->]]]. apply turned_well; [exact Nl|apply Hr, Hin|apply ends_makespan, Hin].
  - intros b x. eapply Nat.le_trans.
    + apply (turned_uses (makespan sch) (member_at j (Nat.eqb b) (makespan sch - 1 - shift b - x)) (member_at turned (Nat.eqb b) x)); [|apply Hr].
      apply mirrored. intros i Hi E. apply Nat.eqb_eq in E. rewrite E. symmetry. apply shift_bundle, Hi.
    + rewrite (turned_capacity _ (Rounds true)). apply within_bundle; [apply Hr|apply uses_known, Hr]. exact Hp.
  - intros p x Hin. cbn [ports turned] in Hin. eapply Nat.le_trans.
    + apply (turned_uses (makespan sch) (member_at j (fun b => existsb (Nat.eqb b) (fst p)) (makespan sch - 1 - shift (hd O (fst p)) - x))); [|apply Hr].
      apply mirrored. apply level_shift; auto.
    + apply within_port; auto; [apply Hr|apply uses_known; auto].
  - apply backwards_brings; auto. intros t H. apply (proj1 Hr t H).
  - eapply Z.le_lt_trans; [apply backwards_makespan, Sp|exact L].
Qed.

(** ** In rounds *)

Section InRounds.
Variable by_link : bool.
Variable sch : list sent.
Hypothesis good : right_in_rounds j by_link sch.
Notation M := (makespan sch).

Lemma round_spans t : In t sch -> 0 <= begins (data t) < ends (data t).
Proof. intros Ht. destruct (proj1 good t Ht) as [_ [_ [_ [A [E _]]]]]. lia. Qed.
Lemma round_turned t : In t sch -> round_well turned by_link (turn_sent M t).
Proof.
  intros Ht. destruct (proj1 good t Ht) as [[Hk [Hs [Hd Hne]]] [Hl [Nd [Hb [He Hr]]]]]. pose proof (ends_makespan sch t Ht).
  unfold round_well. cbn [turn_sent data tr src dst what begins ends route]. split; [cbn [sizes nodes turned]; auto|].
  split; [apply turned_leads, Hl|]. rewrite (turned_visited _ _ _ Hl). split; [apply NoDup_rev, Nd|]. split; [lia|]. split; [lia|].
  intros B v Hv Rv. apply in_rev in Hv. destruct (Hr B v Hv Rv); auto.
Qed.
Lemma round_uses_back member d x (f : sent -> bool) : (forall i, member (bundle j i) = true -> 0 = d) ->
  (Clauses.how_many (member_at turned member x) (round_uses (map (turn_sent M) (filter f sch))) <=
   Clauses.how_many (member_at j member (M - 1 - d - x)) (round_uses sch))%nat.
Proof.
  intros Hd. assert (E : forall t, In t sch -> ends (data t) = begins (data t) + 1) by (intros t Ht; destruct (proj1 good t Ht) as [_ [_ [_ [_ [E _]]]]]; exact E).
  revert E. generalize M as N. generalize sch as l. intros l N E. induction l as [|t l IH]; [apply le_n|]. specialize (IH (fun x Hx => E x (or_intror Hx))).
  unfold round_uses in *. cbn [flat_map filter]. rewrite how_many_app. destruct (f t); [|lia]. cbn [map flat_map]. rewrite how_many_app.
  enough (Clauses.how_many (member_at turned member x) (round_uses_of (turn_sent N t)) = Clauses.how_many (member_at j member (N - 1 - d - x)) (round_uses_of t)) by lia.
  unfold round_uses_of. cbn [turn_sent data begins route]. rewrite map_rev, how_many_back, (E t (or_introl eq_refl)).
  induction (route t) as [|i r IHr]; [reflexivity|]. cbn [map]. rewrite !how_many_cons, IHr. f_equal.
  replace (member_at turned member x (i, Span (N - (begins (data t) + 1)) 1)) with (member_at j member (N - 1 - d - x) (i, Span (begins (data t)) 1)); [reflexivity|].
  unfold member_at. cbn [fst]. rewrite turned_bundle. destruct (member (bundle j i)) eqn:Em; [|reflexivity]. specialize (Hd i Em).
  cbn [andb]. unfold at_instant. cbn [snd first long]. apply eq_true_iff_eq. rewrite !andb_true_iff, !Z.leb_le, !Z.ltb_lt. lia.
Qed.
Lemma once_back (e e' : transfer -> nat) r : (forall t, e' (tr (data (turn_sent M t))) = e (tr (data t))) ->
  (forall r, NoDup (map e (round_of sch r))) -> NoDup (map e' (round_of (backwards sch) r)).
Proof.
  intros Ee H. unfold round_of, sent_in, backwards in *. rewrite map_map.
  specialize (H (Z.to_nat (M - 1 - Z.of_nat r))). rewrite map_map in H.
  assert (B : forall l, (forall t, In t l -> In t sch) ->
    map (fun t => e' (tr (data t))) (filter (fun t => begins (data t) =? Z.of_nat r) (map (turn_sent M) (filter (of_use sch) l))) =
    map (fun t => e (tr (data t))) (filter (fun t => of_use sch t && (M - ends (data t) =? Z.of_nat r)) l)).
  { induction l as [|t l IH]; intros Hl; [reflexivity|]. specialize (IH (fun x Hx => Hl x (or_intror Hx))). cbn [filter].
    destruct (of_use sch t); [|exact IH]. cbn [map filter andb]. change (begins (data (turn_sent M t))) with (M - ends (data t)).
    destruct (M - ends (data t) =? Z.of_nat r); [cbn [map]; rewrite Ee, IH; reflexivity|exact IH]. }
  rewrite B by auto. apply (nodup_less _ (fun t => begins (data t) =? Z.of_nat (Z.to_nat (M - 1 - Z.of_nat r)))); [|exact H].
  intros t Ht E. apply andb_true_iff in E. destruct E as [_ E]. apply Z.eqb_eq in E. apply Z.eqb_eq.
  destruct (proj1 good t Ht) as [_ [_ [_ [A [Ee' _]]]]]. lia.
Qed.
Lemma rounds_counted l n : rounds (rounds_from l 0 n) = length (filter (fun r => moves (round_of l r)) (seq 0 n)).
Proof.
  unfold rounds, rounds_from. induction (seq 0 n) as [|a s IH]; [reflexivity|]. cbn [map filter]. destruct (moves (round_of l a)); cbn [length]; rewrite IH; reflexivity.
Qed.
Lemma moves_sent l r : moves (round_of l r) = true <-> exists t, In t l /\ begins (data t) = Z.of_nat r.
Proof.
  unfold round_of, sent_in. split.
  - intros Mv. destruct (filter (fun t => begins (data t) =? Z.of_nat r) l) as [|t s] eqn:E; [discriminate|].
    assert (Hin : In t (filter (fun t => begins (data t) =? Z.of_nat r) l)) by (rewrite E; left; auto). apply filter_In in Hin. rewrite Z.eqb_eq in Hin. eauto.
  - intros [t [Ht E]]. assert (Hin : In t (filter (fun t => begins (data t) =? Z.of_nat r) l)) by (apply filter_In; rewrite Z.eqb_eq; auto).
    destruct (filter _ l); [destruct Hin|reflexivity].
Qed.
Lemma no_more_rounds : (rounds (rounds_from (backwards sch) 0 (RoundTime.how_many (backwards sch))) <= rounds (rounds_from sch 0 (RoundTime.how_many sch)))%nat.
Proof.
  rewrite !rounds_counted. set (n' := RoundTime.how_many (backwards sch)). set (n := RoundTime.how_many sch).
  assert (L : (n' <= n)%nat) by (unfold n', n, RoundTime.how_many; pose proof (backwards_makespan sch round_spans); lia).
  rewrite <- (map_length (fun r => (n - 1 - r)%nat)). apply NoDup_incl_length.
  - assert (Nd : NoDup (filter (fun r => moves (round_of (backwards sch) r)) (seq 0 n'))) by apply NoDup_filter, seq_NoDup.
    assert (Lt : forall r, In r (filter (fun r => moves (round_of (backwards sch) r)) (seq 0 n')) -> (r < n)%nat)
      by (intros r Hr; apply filter_In in Hr; destruct Hr as [Hr _]; apply in_seq in Hr; lia).
    revert Nd Lt. generalize (filter (fun r => moves (round_of (backwards sch) r)) (seq 0 n')). induction l as [|a l IH]; intros Nd Lt; cbn [map]; constructor.
    + intros Hin. apply in_map_iff in Hin. destruct Hin as [b [E Hb]]. pose proof (Lt a (or_introl eq_refl)). pose proof (Lt b (or_intror Hb)).
      inversion Nd; subst. assert (a = b) by lia. subst. auto.
    + inversion Nd; subst. apply IH; auto. intros r Hr. apply Lt. right. exact Hr.
  - intros r' Hr. apply in_map_iff in Hr. destruct Hr as [r [<- Hr]]. apply filter_In in Hr. destruct Hr as [Hr Mv]. apply in_seq in Hr.
    apply moves_sent in Mv. destruct Mv as [t' [Ht' E]]. apply in_backwards in Ht'; [|apply round_spans]. destruct Ht' as [t [Ht [_ ->]]].
    cbn [turn_sent data begins] in E. apply filter_In. split; [apply in_seq; lia|]. apply moves_sent. exists t. split; [exact Ht|].
    destruct (proj1 good t Ht) as [_ [_ [_ [A [Ee _]]]]]. unfold n, RoundTime.how_many. pose proof (makespan_0 sch). lia.
Qed.
Lemma falls_back n f : falls_into n f sch -> falls_into n (fun x => Z.of_nat n - 1 - f (Z.max 0 (M - 1 - x))) (backwards sch).
Proof.
  intros [Up [B St]]. split; [|split].
  - intros x y Hxy. pose proof (Up (Z.max 0 (M - 1 - y)) (Z.max 0 (M - 1 - x)) ltac:(lia)). lia.
  - intros x _. pose proof (B (Z.max 0 (M - 1 - x)) ltac:(lia)). lia.
  - intros t' u' Ht Hu E1 E2 E3. apply in_backwards in Ht; [|apply round_spans]. apply in_backwards in Hu; [|apply round_spans].
    destruct Ht as [t [Ht [_ ->]]], Hu as [u [Hu [_ ->]]]. cbn [turn_sent data tr src dst what begins ends] in *.
    pose proof (St u t Hu Ht (eq_sym E1) (eq_sym E2) ltac:(lia)).
    destruct (proj1 good t Ht) as [_ [_ [_ [At [Et _]]]]]. destruct (proj1 good u Hu) as [_ [_ [_ [Au [Eu _]]]]].
    replace (Z.max 0 (M - 1 - (M - ends (data t)))) with (begins (data t)) by lia. replace (Z.max 0 (M - 1 - (M - ends (data u)))) with (begins (data u)) by lia. lia.
Qed.
End InRounds.

Theorem backwards_rounds by_link h n proof sch : positive j -> no_schedule turned (Rounds by_link) h n proof = true -> right_in_rounds j by_link sch ->
  (n <> O -> exists f, falls_into n f sch) -> h + 1 <= Z.of_nat (rounds (rounds_from sch 0 (RoundTime.how_many sch))).
Proof.
  intros Hp R Hr St. destruct (Z.le_gt_cases (Z.of_nat (rounds (rounds_from sch 0 (RoundTime.how_many sch)))) h) as [L|]; [exfalso|lia].
  unfold no_schedule in R. rewrite !andb_true_iff in R. destruct R as [[_ R2] R3].
  assert (St' : exists f, n <> O -> falls_into n f (backwards sch)).
  { destruct n; [exists (fun _ => 0); congruence|]. destruct St as [f Hf]; [congruence|]. eexists. intros _. apply (falls_back by_link sch Hr), Hf. }
  destruct St' as [f Hf]. pose proof (round_spans by_link sch Hr) as Sp. destruct (fits_in_rounds j by_link sch Hr) as [F1 [F2 F3]].
  assert (Uses : forall member x, (Clauses.how_many (member_at turned member x) (round_uses (backwards sch)) <=
      Clauses.how_many (member_at j member (makespan sch - 1 - 0 - x)) (round_uses sch))%nat)
    by (intros member x; apply (round_uses_back by_link sch Hr); auto).
  refine (no_plan _ _ (properly_spec _ _ _ _ R2) proof R3 _ (rounds_plan turned by_link h n f (backwards sch) _ _ _ _ _ _ Hf)).
  - intros t' Ht'. apply in_backwards in Ht'; auto. destruct Ht' as [t [Hin [_ ->]]]. apply (round_turned by_link sch Hr t Hin).
  - intros B b x. eapply Nat.le_trans; [apply Uses|]. rewrite (turned_capacity _ (Rounds by_link)). apply F1, B.
  - intros B p x Hin. eapply Nat.le_trans; [apply Uses|]. apply F2; auto.
  - intros B r. split; [apply (once_back by_link sch Hr dst)|apply (once_back by_link sch Hr src)]; auto; apply F3, B.
  - apply backwards_brings; auto; [apply Hr|]. intros t H. apply (proj1 Hr t H).
  - pose proof (no_more_rounds by_link sch Hr). lia.
Qed.

(** ** The rules *)

Definition backwards_epochs_rule (tau h : Z) (proof : list Lrat.line) (bound : Z) : bool :=
  (0 <? tau) && nobody_late && level_ports && no_schedule turned (Epochs tau) h 0 proof && (bound <=? (h + 1) * tau).
Definition backwards_rounds_rule (by_link : bool) (h : Z) (n : nat) (proof : list Lrat.line) (bound : Z) : bool :=
  no_schedule turned (Rounds by_link) h n proof && (bound <=? take_after j h n).

Theorem backwards_epochs_rule_sound tau h proof bound sch : positive j -> backwards_epochs_rule tau h proof bound = true ->
  right j sch -> bound <= makespan sch.
Proof.
  unfold backwards_epochs_rule. intros Hp R Hr. rewrite !andb_true_iff, Z.ltb_lt, Z.leb_le in R. destruct R as [[[[Ht Nl] Lp] R] Hb].
  pose proof (backwards_epochs tau h proof sch Hp Ht Nl Lp R Hr). lia.
Qed.
Theorem backwards_rounds_rule_sound by_link h n proof bound sch : positive j -> backwards_rounds_rule by_link h n proof bound = true ->
  right_in_rounds j by_link sch -> bound <= round_makespan j sch.
Proof.
  unfold backwards_rounds_rule. intros Hp R Hr. rewrite andb_true_iff, Z.leb_le in R. destruct R as [R Hb]. eapply Z.le_trans; [exact Hb|].
  destruct n as [|n]; cbn [take_after]; [|apply (round_makespan_0 j by_link); auto].
  apply (rounds_above j by_link); auto. apply (backwards_rounds by_link h 0 proof sch Hp R Hr). congruence.
Qed.
Theorem backwards_steps_rule_sound by_link h n proof bound sch f : positive j -> backwards_rounds_rule by_link h n proof bound = true ->
  right_in_rounds j by_link sch -> Z.of_nat (rounds (rounds_from sch 0 (RoundTime.how_many sch))) <= h -> falls_into n f sch -> False.
Proof.
  unfold backwards_rounds_rule. intros Hp R Hr L St. rewrite andb_true_iff in R. destruct R as [R _].
  pose proof (backwards_rounds by_link h n proof sch Hp R Hr ltac:(eauto)). lia.
Qed.
End Job.
