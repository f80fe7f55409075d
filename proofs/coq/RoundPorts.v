(** The rules broadcast and combine where switches copy or add, in rounds: what a rank sends in a round, or
    receives, is of one chunk, since it goes over one link, and what shares a link is of one chunk. So h
    sends what it alone has, one chunk in a round, each to however many ranks; and d receives what it
    must, one chunk in a round, from however many. Also where the cut is free. Left out: doublings. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds Replay InRounds Copying Adding Loose Coverage Cover Free Sharing RoundTime RoundRules RoundHops FreeRounds RoundsInTime LooseInRounds.
Import ListNotations.
Open Scope Z_scope.

(** In a round no two links of these are used. *)
Definition one_way (sch : list sent) (ls : list nat) : Prop :=
  forall t t' i i', In t sch -> In t' sch -> begins (data t) = begins (data t') -> In i (route t) -> In i' (route t') -> In i ls -> In i' ls -> i = i'.
(** Each rank sends and receives over one link a round. *)
Definition one_port (j : job) (sch : list sent) : Prop := forall ls, In (ls, 1%nat) (ports (ported j false)) -> one_way sch ls.

Section Copying.
Variable j : job.
Variable copies : nat -> bool.
Variable sch : list sent.
Hypothesis good : right_copying_rounds j copies false sch.
Lemma copying_port : one_port j sch.
Proof.
  intros ls Hp t t' i i' Ht Ht' Eb Hi Hi' Li Li'. destruct good as [_ [_ [P _]]]. specialize (P _ _ Hp (begins (data t))). unfold busy_links in P.
  assert (Port : forall s k, In s sch -> In k (route s) -> begins (data s) = begins (data t) -> In k ls ->
     In k (nodup Nat.eq_dec (map fst (filter (uses_at ls (begins (data t))) (round_uses sch))))).
  { intros s k Hs Hk Es Lk. apply nodup_In. apply in_map_iff. exists (k, Span (begins (data s)) 1). split; [reflexivity|]. apply filter_In. split.
    - apply in_flat_map. exists s. split; [exact Hs|apply in_round_uses, Hk].
    - unfold uses_at. cbn [fst snd first long]. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt. split; [|lia]. split; [|lia].
      apply existsb_exists. exists k. split; [exact Lk|apply Nat.eqb_refl]. }
  pose proof (Port t i Ht Hi eq_refl Li) as I. pose proof (Port t' i' Ht' Hi' (eq_sym Eb) Li') as I'.
  clear - P I I'. destruct (nodup _ _) as [|x [|y l]]; [destruct I| |cbn [length] in P; lia]. destruct I as [<-|[]], I' as [<-|[]]. reflexivity.
Qed.
End Copying.

Section Adding.
Variable j : job.
Variable net : network.
Variable sch : list sent.
Hypothesis good : right_adding_rounds j net false sch.

Lemma hull_covers a s : In a s -> first (Adding.hull s) <= Adding.begin_of a /\ Adding.stop_of a <= first (Adding.hull s) + long (Adding.hull s).
Proof.
  destruct s as [|x s]; [intros []|]. intros Ha. cbn [Adding.hull first long].
  assert (A : forall l b, In b (x :: l) -> fold_right (fun b m => Z.min (Adding.begin_of b) m) (Adding.begin_of x) l <= Adding.begin_of b).
  { induction l as [|y l IH]; intros b Hb; cbn [fold_right]; [destruct Hb as [->|[]]; lia|]. destruct Hb as [->|[->|Hb]]; [|lia|].
    - specialize (IH b (or_introl eq_refl)). lia.
    - specialize (IH b (or_intror Hb)). lia. }
  assert (B : forall l b, In b (x :: l) -> Adding.stop_of b <= fold_right (fun b m => Z.max (Adding.stop_of b) m) (Adding.stop_of x) l).
  { induction l as [|y l IH]; intros b Hb; cbn [fold_right]; [destruct Hb as [->|[]]; lia|]. destruct Hb as [->|[->|Hb]]; [|lia|].
    - specialize (IH b (or_introl eq_refl)). lia.
    - specialize (IH b (or_intror Hb)). lia. }
  specialize (A s a Ha). specialize (B s a Ha). lia.
Qed.
(** Each use of a link is in a stream. *)
Lemma in_a_stream t i : In t sch -> In i (route t) -> (i < length (links j))%nat ->
  exists s, In (i, s) (all_streams j round_uses_of sch) /\ first (Adding.hull s) <= begins (data t) < first (Adding.hull s) + long (Adding.hull s).
Proof.
  intros Ht Hi Li. pose proof (in_round_uses t i Hi) as Hu. destruct (in_numbered sch t Ht) as [m Hm]. destruct (nth_use _ _ Hu) as [n [_ Hn]].
  assert (P : In (Held (i, Span (begins (data t)) 1) m n t) (filter (fun h => (on_link h =? i)%nat) (held_by round_uses_of sch))).
  { apply filter_In. split; [|apply Nat.eqb_refl]. apply in_flat_map. exists (m, t). split; [exact Hm|].
    apply in_map_iff. exists (n, (i, Span (begins (data t)) 1)). auto. }
  destruct (streams_share _ _ _ P P) as [A|[s [Hs [Sa _]]]]; [unfold apart in A; cbn [Adding.over snd first long] in A; lia|].
  exists s. split; [apply in_flat_map; exists i; split; [apply in_seq; lia|apply in_map, Hs]|].
  destruct (hull_covers _ s Sa) as [B C]. unfold Adding.begin_of, Adding.stop_of in *. cbn [Adding.over snd first long] in *. lia.
Qed.
Lemma two_in {A} (a b : A) l : In a l -> In b l -> a <> b -> (2 <= length l)%nat.
Proof.
  destruct l as [|x [|y l]]; simpl; intros Ha Hb Ne; [tauto| |lia]. destruct Ha as [<-|[]], Hb as [<-|[]]. congruence.
Qed.
Lemma adding_port : one_port j sch.
Proof.
  intros ls Hp t t' i i' Ht Ht' Eb Hi Hi' Li Li'. destruct good as [W [[_ [_ [P _]]] _]]. specialize (P _ _ Hp (begins (data t))).
  assert (Lk : forall s k, In s sch -> In k (route s) -> (k < length (links j))%nat).
  { intros s k Hs Hk. destruct (W s Hs) as [_ [[Hl _] _]]. apply (leads_in j _ _ _ Hl k Hk). }
  destruct (in_a_stream t i Ht Hi (Lk t i Ht Hi)) as [s [Hs Cs]]. destruct (in_a_stream t' i' Ht' Hi' (Lk t' i' Ht' Hi')) as [s' [Hs' Cs']]. rewrite <- Eb in Cs'.
  destruct (Nat.eq_dec i i') as [|Ne]; [assumption|]. exfalso.
  assert (Use : forall k q, In (k, q) (all_streams j round_uses_of sch) -> In k ls -> first (Adding.hull q) <= begins (data t) < first (Adding.hull q) + long (Adding.hull q) ->
      In (k, Adding.hull q) (filter (uses_at ls (begins (data t))) (busy_in j net false (all_streams j round_uses_of sch)))).
  { intros k q Hq Hk Cq. apply filter_In. split; [apply in_flat_map; exists (k, q); split; [exact Hq|left; reflexivity]|].
    unfold uses_at. cbn [fst snd]. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt. split; [|lia]. split; [|lia]. apply existsb_exists. exists k. split; [exact Hk|apply Nat.eqb_refl]. }
  pose proof (two_in _ _ _ (Use i s Hs Li Cs) (Use i' s' Hs' Li' Cs') ltac:(congruence)) as T.
  apply (Nat.nle_succ_diag_l 1). eapply Nat.le_trans; [exact T|exact P].
Qed.
End Adding.

(** ** Chunks in different rounds *)

Section Rule.
Variable j : job.
Variable net : network.
Variable sch : list sent.
Hypothesis sane : positive j.
Hypothesis steps : stepwise j net sch.
Hypothesis port : one_port j sch.
Notation rnd := RoundsInTime.rnd.

Lemma step_goes t : In t sch -> goes j t.
Proof. intros Ht. destruct (step_transfers _ _ _ steps t Ht) as [A [B _]]. split; assumption. Qed.
Lemma at_rank (e : Round.transfer -> nat) (f : link -> nat) v :
  (forall t, In t sch -> exists i, In i (route t) /\ f (at_link j i) = e (tr (data t))) ->
  In (links_of j (fun l => (f l =? v)%nat), 1%nat) (ports (ported j false)) ->
  forall t t', In t sch -> In t' sch -> e (tr (data t)) = v -> e (tr (data t')) = v -> begins (data t) = begins (data t') ->
  what (tr (data t)) = what (tr (data t')).
Proof.
  intros Ends Hp t t' Ht Ht' Ev Ev' Eb. destruct (Nat.eq_dec (what (tr (data t))) (what (tr (data t')))) as [|Ne]; [assumption|]. exfalso.
  destruct (Ends t Ht) as [i [Hi Ei]], (Ends t' Ht') as [i' [Hi' Ei']].
  assert (L : forall s k, In s sch -> In k (route s) -> f (at_link j k) = v -> In k (links_of j (fun l => (f l =? v)%nat))).
  { intros s k Hs Hk Ek. apply in_some_links; [apply (leads_in j _ _ _ (proj2 (step_goes s Hs)) k Hk)|apply Nat.eqb_eq, Ek]. }
  assert (i = i') by (apply (port _ Hp t t' i i' Ht Ht' Eb Hi Hi'); [apply (L t)|apply (L t')]; auto; congruence). subst i'.
  apply Ne, (step_links j net sch steps t t' i); auto. intros ->. auto.
Qed.
(** Chunks that must pass a rank's port, which waits for it. *)
Lemma passes_in_turn (e : Round.transfer -> nat) v (w : nat -> Z) ks :
  (forall t t', In t sch -> In t' sch -> e (tr (data t)) = v -> e (tr (data t')) = v -> begins (data t) = begins (data t') ->
     what (tr (data t)) = what (tr (data t'))) ->
  (forall t, In t sch -> e (tr (data t)) = v -> In v (visited j (Round.src (tr (data t))) (route t)) /\ (v < nodes j)%nat /\
     w (what (tr (data t))) <= duration j (size j (what (tr (data t)))) (route t)) ->
  NoDup ks -> ks <> [] -> (forall k, In k ks -> exists t, In t sch /\ what (tr (data t)) = k /\ e (tr (data t)) = v) ->
  arrival j v + sum w ks <= round_makespan j sch.
Proof.
  intros One At Nk Ne Has.
  destruct (each_has_one (fun k t => In t sch /\ what (tr (data t)) = k /\ e (tr (data t)) = v) ks Has) as [ps [E Q]].
  set (R := map (fun p : nat * sent => rnd (snd p)) ps).
  assert (Begin : forall t, In t sch -> begins (data t) = Z.of_nat (rnd t)) by (intros t Ht; apply (round_of j net sch steps t Ht)).
  assert (NR : NoDup R).
  { assert (NP : NoDup (map fst ps)) by (rewrite E; exact Nk). unfold R. clear - Q NP Begin One. revert NP Q. induction ps as [|p l IH]; intros NP Q; [constructor|].
    cbn [map] in NP |- *. inversion NP as [|? ? Hp Hl]; subst. constructor; [|apply IH; auto; intros q Hq; apply Q; right; auto].
    intros Hin. apply in_map_iff in Hin. destruct Hin as [q [Eq Hq]]. apply Hp. apply in_map_iff. exists q. split; [|exact Hq].
    destruct (Q p (or_introl eq_refl)) as [A [B C]]. destruct (Q q (or_intror Hq)) as [A' [B' C']]. rewrite <- B, <- B'.
    apply One; auto. rewrite !Begin by assumption. congruence. }
  assert (IR : incl R (seq 0 (how_many sch))).
  { intros r Hr. apply in_map_iff in Hr. destruct Hr as [p [<- Hp]]. destruct (Q p Hp) as [A _]. apply in_seq. unfold how_many.
    pose proof (ends_makespan sch _ A). destruct (round_of j net sch steps _ A) as [_ Ee]. lia. }
  assert (Long : sum w ks <= sum (round_lasts j sch) R).
  { rewrite <- E. unfold R. rewrite !sum_map. apply sum_le. intros p Hp. destruct (Q p Hp) as [A [B C]]. destruct (At _ A C) as [_ [_ L]]. rewrite B in L.
    eapply Z.le_trans; [exact L|]. rewrite <- B. apply (lasts_ge j sch). apply (at_its_round j net sch steps), A. }
  assert (NeR : R <> []).
  { intros Er. apply map_eq_nil in Er. rewrite Er in E. simpl in E. congruence. }
  assert (Tot : arrival j v + sum (round_lasts j sch) R <= round_makespan j sch); [|lia].
  apply rounds_sum; auto. intros r0 H0 _. apply in_map_iff in H0. destruct H0 as [p [<- Hp]]. destruct (Q p Hp) as [A [_ C]]. destruct (At _ A C) as [V [Lv _]].
  apply (wait_for j sch (rnd (snd p)) (snd p) v); auto. apply (at_its_round j net sch steps), A.
Qed.

Theorem sends_core h : let ks := filter (crosses j (Nat.eqb h)) (seq 0 (length (sizes j))) in ks <> [] ->
  arrival j h + sum (fun k => first_hop j (fun l => (Cut.src l =? h)%nat) (size j k)) ks <= round_makespan j sch.
Proof.
  intros ks Ne.
  assert (Has : forall k, In k ks -> exists t, In t sch /\ what (tr (data t)) = k /\ Round.src (tr (data t)) = h).
  { intros k Hk. apply filter_In in Hk. destruct Hk as [_ Hk]. apply existsb_exists in Hk.
    destruct Hk as [[[v k'] w] [Hin Hk]]. cbn [fst snd] in Hk. apply andb_true_iff in Hk. destruct Hk as [Hk Hc'].
    apply andb_true_iff in Hk. destruct Hk as [Ek' Hv]. apply Nat.eqb_eq in Ek'. subst k'.
    apply negb_true_iff in Hv. apply existsb_exists in Hc'. destruct Hc' as [c [_ Hc']].
    apply andb_true_iff in Hc'. destruct Hc' as [Hwc Ho]. unfold containsb in Hwc. apply Nat.ltb_lt in Hwc.
    destruct (must_leave j (Nat.eqb h) (map data sch) c v k (makespan sch)) as [t [Ht [Et [A B]]]].
    - apply (executed_bring j sch (step_data j net sch steps)) with (w := w); auto. intros t Ht.
      destruct (step_transfers j net sch steps t Ht) as [_ [_ [_ [X Y]]]]. lia.
    - exact Hv.
    - intros u x Hx Hcx. unfold only_inside in Ho. rewrite forallb_forall in Ho. specialize (Ho _ Hx).
      cbn [fst snd] in Ho. rewrite Nat.eqb_refl in Ho. unfold containsb in Ho. rewrite (proj2 (Nat.ltb_lt 0 _) Hcx) in Ho. exact Ho.
    - apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. exists s. apply Nat.eqb_eq in A. auto. }
  assert (Hh : (h < nodes j)%nat).
  { destruct ks as [|k l] eqn:Ek; [congruence|]. destruct (Has k (or_introl eq_refl)) as [t [Ht [_ <-]]]. apply (step_goes t Ht). }
  apply (passes_in_turn Round.src h (fun k => first_hop j (fun l => (Cut.src l =? h)%nat) (size j k)) ks).
  - apply (at_rank Round.src Cut.src h).
    + intros t Ht. destruct (step_goes t Ht) as [[_ [_ [_ Hne]]] Hl]. destruct (leads_ends j _ _ _ Hl Hne) as [A _]. exact A.
    + apply (in_rank_ports j h Hh).
  - intros t Ht Es. split; [left; exact Es|]. split; [exact Hh|]. apply (first_lasts j sane t); [apply step_goes, Ht|split; [apply sane_size, sane|lia]|].
    intros i _ Ei. apply Nat.eqb_eq. congruence.
  - apply NoDup_filter, seq_NoDup.
  - exact Ne.
  - exact Has.
Qed.
Theorem receives_core d : let ks := filter (must_change j d) (seq 0 (length (sizes j))) in (d < nodes j)%nat -> ks <> [] ->
  arrival j d + sum (fun k => last_hop j (fun l => (Cut.dst l =? d)%nat) (size j k)) ks <= round_makespan j sch.
Proof.
  intros ks Hd Ne.
  assert (Ends : forall t, In t sch -> exists i, In i (route t) /\ Cut.dst (at_link j i) = Round.dst (tr (data t))).
  { intros t Ht. destruct (step_goes t Ht) as [[_ [_ [_ Hne]]] Hl]. destruct (leads_ends j _ _ _ Hl Hne) as [_ A]. exact A. }
  apply (passes_in_turn Round.dst d (fun k => last_hop j (fun l => (Cut.dst l =? d)%nat) (size j k)) ks).
  - apply (at_rank Round.dst Cut.dst d); [exact Ends|apply (in_rank_ports j d Hd)].
  - intros t Ht Es. split; [|split; [exact Hd|]].
    + destruct (Ends t Ht) as [i [Hi Ei]]. right. rewrite <- Es, <- Ei. apply (in_map (fun i => Cut.dst (at_link j i))), Hi.
    + apply (last_lasts j sane t); [apply step_goes, Ht|split; [apply sane_size, sane|lia]|]. intros i _ Ei. apply Nat.eqb_eq. congruence.
  - apply NoDup_filter, seq_NoDup.
  - exact Ne.
  - intros k Hk. apply filter_In in Hk. destruct Hk as [_ Hk]. apply existsb_exists in Hk. destruct Hk as [[[v' k'] w] [Hin Mc]]. unfold said_at in Hin.
    apply filter_In in Hin. cbn [fst snd] in *. destruct Hin as [Hin E]. apply andb_true_iff in E. rewrite !Nat.eqb_eq in E. destruct E as [-> ->].
    apply negb_true_iff in Mc. destruct (step_data j net sch steps) as [H [He Hg]]. destruct (Hg _ _ _ Hin) as [got [Hgot A]].
    destruct (changed j _ H He (makespan sch) (makespan_0 sch) d k) as [Eq|[t [Ht [Es _]]]].
    + rewrite Eq in Hgot. unfold settled in Mc. rewrite Hgot in Mc. apply agreesb_spec in A. congruence.
    + apply in_map_iff in Ht. destruct Ht as [x [<- Hx]]. exists x. unfold slot in Es. injection Es as E1 E2. auto.
Qed.
End Rule.

(** ** The rules *)

Definition sends_rule (j : job) (h : nat) (bound : Z) : bool :=
  let ks := filter (crosses j (Nat.eqb h)) (seq 0 (length (sizes j))) in
  match ks with [] => false | _ => bound <=? arrival j h + sum (fun k => first_hop j (fun l => (Cut.src l =? h)%nat) (size j k)) ks end.
Definition receives_rule (j : job) (d : nat) (bound : Z) : bool :=
  let ks := filter (must_change j d) (seq 0 (length (sizes j))) in
  (d <? nodes j)%nat && match ks with [] => false | _ => bound <=? arrival j d + sum (fun k => last_hop j (fun l => (Cut.dst l =? d)%nat) (size j k)) ks end.

Definition right_sharing (j : job) (net : network) (sch : list sent) : Prop :=
  right_copying_rounds j (copying net) false sch \/ right_adding_rounds j net false sch.
Lemma sharing_steps j net sch : right_sharing j net sch -> exists net', stepwise j net' sch /\ one_port j sch.
Proof.
  intros [G|G].
  - exists (Network (copying net) (fun _ => false) (fun _ => false) (fun _ => false) []). split; [apply (copying_steps j _ false); exact G|apply (copying_port j (copying net)), G].
  - exists net. split; [apply (adding_steps j net false), G|apply (adding_port j net), G].
Qed.
Theorem sends_sound j net h bound sch : positive j -> sends_rule j h bound = true -> right_sharing j net sch -> bound <= round_makespan j sch.
Proof.
  unfold sends_rule. intros sane R G. destruct (sharing_steps j net sch G) as [net' [St Po]].
  pose proof (sends_core j net' sch sane St Po h) as C. cbn zeta in C. destruct (filter (crosses j (Nat.eqb h)) (seq 0 (length (sizes j)))) as [|k l]; [discriminate|].
  apply Z.leb_le in R. specialize (C ltac:(discriminate)). lia.
Qed.
Theorem receives_sound j net d bound sch : positive j -> receives_rule j d bound = true -> right_sharing j net sch -> bound <= round_makespan j sch.
Proof.
  unfold receives_rule. intros sane R G. apply andb_true_iff in R. destruct R as [Rd R]. apply Nat.ltb_lt in Rd. destruct (sharing_steps j net sch G) as [net' [St Po]].
  pose proof (receives_core j net' sch sane St Po d) as C. cbn zeta in C. destruct (filter (must_change j d) (seq 0 (length (sizes j)))) as [|k l]; [discriminate|].
  apply Z.leb_le in R. specialize (C Rd ltac:(discriminate)). lia.
Qed.

(** ** However the shards are cut into chunks *)

Definition free_sends_rule (j : job) (h : nat) (bound : Z) : bool :=
  let ss := some_bytes j (filter (crosses j (Nat.eqb h)) (seq 0 (length (sizes j)))) in
  match ss with [] => false | _ => bound <=? arrival j h + first_hop j (fun l => (Cut.src l =? h)%nat) (sum (size j) ss) end.
Definition free_receives_rule (j : job) (d : nat) (bound : Z) : bool :=
  let ss := some_bytes j (filter (must_change j d) (seq 0 (length (sizes j)))) in
  (d <? nodes j)%nat && match ss with [] => false | _ => bound <=? arrival j d + last_hop j (fun l => (Cut.dst l =? d)%nat) (sum (size j) ss) end.

Section Cut.
Variable j : job.
Variable ps : pieces.
Hypothesis cut : is_cut j ps.
Hypothesis sane : positive j.
Notation cutj := (recut j ps).
Notation chunks := (seq 0 (length ps)).
(** What all bytes take at once is no more than what the chunks of some shards, which are among these, take. *)
Lemma in_turn_or_at_once (p : nat -> bool) (p' : nat -> bool) (f : Z -> Z) : (forall k, In k chunks -> p (Free.shard ps k) = true -> p' k = true) ->
  (forall b, 0 <= f b) -> (forall ks, (forall k, In k ks -> 0 <= size cutj k) -> ks <> [] -> f (sum (size cutj) ks) <= sum (fun k => f (size cutj k)) ks) ->
  some_bytes j (filter p (seq 0 (length (sizes j)))) <> [] ->
  let ks := filter p' (seq 0 (length (sizes cutj))) in
  ks <> [] /\ f (sum (size j) (some_bytes j (filter p (seq 0 (length (sizes j)))))) <= sum (fun k => f (size cutj k)) ks.
Proof.
  intros Pp F0 Fs Ne ks. destruct (some_bytes_spec j (filter p (seq 0 (length (sizes j))))) as [S1 [S2 S3]]; [apply NoDup_filter, seq_NoDup|intros s Hs; apply filter_In in Hs; apply Hs|].
  destruct (of_shards j ps cut sane _ S1 S2 (fun s Hs => proj1 (S3 s Hs)) Ne) as [Nk [Nd [In_k Sum]]]. cbn zeta in *. set (ks' := filter _ chunks) in *.
  assert (I : incl ks' ks).
  { intros k Hk. destruct (In_k k Hk) as [Hc Hs]. apply filter_In. rewrite (recut_chunks j ps). split; [exact Hc|]. apply Pp; [exact Hc|].
    destruct (S3 _ Hs) as [_ Hf]. apply filter_In in Hf. apply Hf. }
  split; [destruct ks'; [congruence|]; intros E; rewrite E in I; apply (I n); left; reflexivity|].
  rewrite <- Sum. eapply Z.le_trans; [apply Fs; [|exact Nk]|].
  - intros k Hk. destruct (In_k k Hk) as [Hc _]. pose proof (recut_size_1 j ps cut k Hc). lia.
  - apply sum_incl; auto.
Qed.
Theorem free_sends_sound net h bound sch : free_sends_rule j h bound = true -> right_sharing cutj net sch -> bound <= round_makespan cutj sch.
Proof.
  unfold free_sends_rule. intros R G. destruct (sharing_steps cutj net sch G) as [net' [St Po]].
  destruct (in_turn_or_at_once (crosses j (Nat.eqb h)) (crosses cutj (Nat.eqb h)) (first_hop j (fun l => (Cut.src l =? h)%nat))) as [Ne L].
  - intros k Hk. apply (crosses_cut j ps (Nat.eqb h) k Hk).
  - intros b. apply first_hop_0.
  - intros ks Hks Nk. apply (hop_all (fun l => latency l + onward j (Cut.dst l)) (filter (fun l => is_rank j (Cut.src l) && (Cut.src l =? h)%nat) (links j))); auto.
    + intros l Hl. apply filter_In in Hl. pose proof (onward_0 j sane (Cut.dst l)). pose proof (proj1 sane l (proj1 Hl)). lia.
    + intros l Hl. apply filter_In in Hl. apply (proj1 sane l (proj1 Hl)).
  - destruct (some_bytes j _); [discriminate R|congruence].
  - pose proof (sends_core cutj net' sch (recut_positive j ps cut sane) St Po h Ne) as C. destruct (some_bytes j _) as [|s l] eqn:Es; [discriminate R|].
    apply Z.leb_le in R. change (arrival cutj h) with (arrival j h) in C. 
    change (sum (fun k => first_hop cutj (fun l => (Cut.src l =? h)%nat) (size cutj k))) with (sum (fun k => first_hop j (fun l => (Cut.src l =? h)%nat) (size cutj k))) in C. lia.
Qed.
Theorem free_receives_sound net d bound sch : free_receives_rule j d bound = true -> right_sharing cutj net sch -> bound <= round_makespan cutj sch.
Proof.
  unfold free_receives_rule. intros R G. apply andb_true_iff in R. destruct R as [Rd R]. apply Nat.ltb_lt in Rd. destruct (sharing_steps cutj net sch G) as [net' [St Po]].
  destruct (in_turn_or_at_once (must_change j d) (must_change cutj d) (last_hop j (fun l => (Cut.dst l =? d)%nat))) as [Ne L].
  - intros k Hk. apply (change_cut j ps d k Hk).
  - intros b. unfold last_hop. lia.
  - intros ks Hks Nk. apply (hop_all (fun l => before j (Cut.src l) + latency l) (filter (fun l => (Cut.dst l =? d)%nat) (links j))); auto.
    + intros l Hl. apply filter_In in Hl. pose proof (before_0 j sane (Cut.src l)). pose proof (proj1 sane l (proj1 Hl)). lia.
    + intros l Hl. apply filter_In in Hl. apply (proj1 sane l (proj1 Hl)).
  - destruct (some_bytes j _); [discriminate R|congruence].
  - pose proof (receives_core cutj net' sch (recut_positive j ps cut sane) St Po d Rd Ne) as C. destruct (some_bytes j _) as [|s l] eqn:Es; [discriminate R|].
    apply Z.leb_le in R. change (arrival cutj d) with (arrival j d) in C.
    change (sum (fun k => last_hop cutj (fun l => (Cut.dst l =? d)%nat) (size cutj k))) with (sum (fun k => last_hop j (fun l => (Cut.dst l =? d)%nat) (size cutj k))) in C. lia.
Qed.
End Cut.
